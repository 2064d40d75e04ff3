// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

const (
	namespacesPath = "/api/v1/namespaces"
	// accountPatience is how long a new namespace may be without its service account, which pods need.
	accountPatience = 10 * time.Second
)

// errOwnNamespace is why checks are left out that need more than they were given.
var errOwnNamespace = &LeftOut{"it needs a namespace of its own; run without --namespace, with the right to create namespaces"}

// rooms are the namespaces of a run.
type rooms struct {
	client *client
	run    string
	// given is the namespace that the user has named; empty if the run makes its own.
	given string
	// hasCore reports whether there are namespaces at all, accounts whether new ones need their
	// service account before objects can be made.
	hasCore, accounts bool

	mu    sync.Mutex
	names []string
	// The namespaces that checks share, and that of isolated ones.
	shared, second, isolated string
}

// open makes the first namespace if the run is not given one.
func (r *rooms) open(ctx context.Context) error {
	if r.given != "" {
		r.shared = r.given
		return nil
	}
	if !r.hasCore {
		return errors.New("the server has no namespaces (no /api/v1); name one with --namespace that exists where the server looks for it")
	}
	_, err := r.lazily(ctx, &r.shared)
	var left *LeftOut
	var setup *SetupError
	switch {
	case errors.As(err, &left), errors.As(err, &setup) && setup.Exchange.Received.Code == http.StatusNotFound:
		return fmt.Errorf("no namespace can be made (%w); name one that exists with --namespace", err)
	case err != nil:
		return fmt.Errorf("no namespace can be made: %w", err)
	}
	return nil
}

// of returns the namespace of a check; empty if the resource has none.
func (r *rooms) of(ctx context.Context, check *Check, resource *Resource) (string, error) {
	if resource != nil && !resource.Namespaced {
		if check.Isolated {
			return "", leftOut("it could delete what others have made: the resource has no namespaces")
		}
		return "", nil
	}
	if !check.Isolated {
		return r.shared, nil
	}
	return r.lazily(ctx, &r.isolated)
}

func (r *rooms) other(ctx context.Context, resource *Resource) (string, error) {
	if resource != nil && !resource.Namespaced {
		return "", leftOut("the resource has no namespaces")
	}
	return r.lazily(ctx, &r.second)
}

// lazily makes a namespace that several checks use when the first one needs it.
func (r *rooms) lazily(ctx context.Context, name *string) (string, error) {
	if r.given != "" || !r.hasCore {
		return "", errOwnNamespace
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if *name == "" {
		made, err := r.create(ctx)
		if err != nil {
			return "", err
		}
		*name = made
	}
	return *name, nil
}

// more makes a namespace for one check.
func (r *rooms) more(ctx context.Context) (string, error) { return r.lazily(ctx, new(string)) }

// create is called with r.mu.
func (r *rooms) create(ctx context.Context) (string, error) {
	name := "docket-conformance-" + utilrand.String(6)
	response, err := r.client.do(ctx, Post(namespacesPath, map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "labels": map[string]any{RunLabel: r.run}},
	}))
	if err != nil {
		return "", err
	}
	if !response.OK() {
		return "", &SetupError{"create a namespace", response.Exchange}
	}
	r.names = append(r.names, name)
	return name, r.awaitAccount(ctx, name)
}

// awaitAccount waits until pods can be made in a new namespace.
func (r *rooms) awaitAccount(ctx context.Context, namespace string) error {
	if !r.accounts {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, accountPatience)
	defer cancel()
	for {
		response, err := r.client.do(ctx, Get(namespacesPath+"/"+namespace+"/serviceaccounts/default"))
		if _, left := errors.AsType[*LeftOut](err); err != nil && !left && ctx.Err() == nil {
			return err
		}
		if err != nil || response.Code != http.StatusNotFound {
			return nil // Pods can tell.
		}
		if status, _ := response.Status(); status == nil || status.Details == nil || status.Details.Name == "" {
			return nil // Not the account is missing, but the resource.
		}
		if pause(ctx, poll) != nil {
			return nil
		}
	}
}

func (r *rooms) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.names...)
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
