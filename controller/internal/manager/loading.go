// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

var errNotLoaded = errors.New("the reports that exist are not read yet")

// loading reads the reports that exist, however long their API is away: a process that ends instead would begin
// from nothing each time.
type loading struct {
	mu     sync.Mutex
	loaded bool
	err    error
}

// ready returns nil once the reports are read.
func (l *loading) ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.loaded:
		return nil
	case l.err != nil:
		return fmt.Errorf("%w, will retry: %w", errNotLoaded, l.err)
	default:
		return errNotLoaded
	}
}

// load calls read until it succeeds, ctx is done, or the server does not accept our credentials. It logs the first
// failure, and each that is another one.
func (l *loading) load(ctx context.Context, read func(context.Context) error) error {
	pause := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Cap: 15 * time.Second, Steps: 5}
	for {
		err := read(ctx)
		l.mu.Lock()
		before := l.err
		l.loaded, l.err = err == nil, err
		l.mu.Unlock()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if apierrors.IsUnauthorized(err) {
			return err
		}
		if before == nil || before.Error() != err.Error() {
			klog.FromContext(ctx).Error(err, "The reports that exist can't be read; will retry. Nothing is scanned until then")
		}
		timer := time.NewTimer(pause.Step())
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}
