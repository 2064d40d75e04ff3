// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/controller/internal/policy"
)

// TestBarrier: after it the server has what was set before, whatever is set meanwhile; an outage is
// waited for, a refusal is not.
func TestBarrier(t *testing.T) {
	t.Parallel()
	w := startServer(t).world(t, Options{Split: true})
	w.load(t)
	w.prune()
	w.run(t)
	w.layout.Present(clusterPolicy("a"), presentation())
	has := func(name string) bool {
		found, err := w.results(t.Context(), WGPolicy)
		return err == nil && found["a r default/"+name]
	}
	w.layout.Set(clusterPolicy("a"), pod("default", "one"), []policy.Result{pass("r")})
	if err := w.writer.Barrier(t.Context()); err != nil || !has("one") {
		t.Fatalf("after the barrier the server has it: %v, error: %v", has("one"), err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var tries atomic.Int64
	w.gateway.set(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPut {
			if tries.Add(1) > 1 {
				cancel() // It has waited longer than for one write.
			}
			return nil, errors.New("the server is away")
		}
		return nil, nil // The server answers.
	})
	w.layout.Set(clusterPolicy("a"), pod("default", "two"), []policy.Result{pass("r")})
	if err := w.writer.Barrier(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("while the server is away: %v", err)
	}
	w.gateway.set(nil)
	if err := w.writer.Barrier(t.Context()); err != nil || !has("two") {
		t.Errorf("after the outage the server has it: %v, error: %v", has("two"), err)
	}

	w.gateway.set(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPut {
			return refusal(r, http.StatusForbidden, metav1.StatusReasonForbidden, "no"), nil
		}
		return nil, nil // The server answers.
	})
	w.layout.Set(clusterPolicy("a"), pod("default", "three"), []policy.Result{pass("r")})
	if err := w.writer.Barrier(t.Context()); err != nil || has("three") {
		t.Errorf("a report that is refused: %v", err)
	}
}
