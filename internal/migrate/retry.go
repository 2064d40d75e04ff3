// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// errAgain asks for another attempt at once.
var errAgain = errors.New("try again")

// retrier retries what may succeed later, until the context ends.
type retrier struct {
	clock clock.Clock
	// report receives what is retried, and why.
	report func(what string, err error)
}

// do calls f until it succeeds or fails with a permanent error.
func (r *retrier) do(ctx context.Context, what string, f func() error) error {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 7, Cap: 5 * time.Second}
	for {
		err := f()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errAgain):
			continue
		case !transient(err):
			return err
		}
		pause := backoff.Step()
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			pause = max(pause, time.Duration(seconds)*time.Second)
		}
		r.report(what, err)
		if err := r.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// sleep waits, and returns an error if the context ends first.
func (r *retrier) sleep(ctx context.Context, d time.Duration) error {
	timer := r.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until polls f until it is done.
func (r *retrier) until(ctx context.Context, what string, f func() (done bool, err error)) error {
	for {
		var done bool
		err := r.do(ctx, what, func() (err error) {
			done, err = f()
			return err
		})
		if err != nil || done {
			return err
		}
		if err := r.sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// pollInterval is how often f is called by until.
const pollInterval = 200 * time.Millisecond

// saveInterval is how often checkpoints are saved.
const saveInterval = time.Second

// transient reports whether an error may go away by itself.
func transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError && code != http.StatusNotImplemented
	}
	// There was no response: connection refused, reset, timed out.
	var network *url.Error
	return errors.As(err, &network)
}

// explain adds the remedy to an error of an API server.
func explain(err error, who string) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s denies it; docs/operate/migrate.md lists the permissions that a migration needs: %w", who, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s rejects the credentials of the kubeconfig: %w", who, err)
	}
	return err
}
