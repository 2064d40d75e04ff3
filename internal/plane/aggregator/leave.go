// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"errors"
	"net/http"
)

// leavable returns a handler around a httputil.ReverseProxy whose clients may leave in the
// middle of an answer, as every watch ends. The proxy panics then, which the filters of the
// server log as an error. An answer that breaks on the other side still panics, so that the
// client sees it break.
func leavable(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			broken := recover()
			reason, _ := broken.(error)
			left := errors.Is(reason, http.ErrAbortHandler) && errors.Is(context.Cause(r.Context()), context.Canceled)
			if broken != nil && !left {
				panic(broken)
			}
		}()
		proxy.ServeHTTP(w, r)
	})
}
