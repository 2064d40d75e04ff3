// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// readDeadline is until when the body of a request is read. Handlers may set it while
// the request is under way: the timeout filter of Kubernetes answers requests whose
// handlers still run, and what those set afterwards would be for the next request on
// the connection, or, with HTTP/2, for a stream that is gone.
type readDeadline struct {
	mu sync.Mutex
	// control is nil once the request has been answered.
	control *http.ResponseController
}

type readDeadlineKey struct{}

// withReadDeadline gives each request that has a body a deadline. It must be the outermost
// handler, which the server calls itself.
func withReadDeadline(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hasBody(r) {
			inner.ServeHTTP(w, r)
			return
		}
		d := &readDeadline{control: http.NewResponseController(w)}
		defer d.end()
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), readDeadlineKey{}, d)))
	})
}

// readDeadlineOf returns the deadline of the request with this context, nil for none.
func readDeadlineOf(ctx context.Context) *readDeadline {
	d, _ := ctx.Value(readDeadlineKey{}).(*readDeadline)
	return d
}

// set makes reads fail from t on, or never if t is zero.
func (d *readDeadline) set(t time.Time) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.control != nil {
		// A connection that knows no deadlines is one of a test.
		_ = d.control.SetReadDeadline(t)
	}
}

func (d *readDeadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.control = nil
}
