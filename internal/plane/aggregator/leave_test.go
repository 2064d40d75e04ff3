// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/aggregator"
)

// TestLeavable: a client that ends its watch is no failure; a server that ends in the
// middle of a line is one.
func TestLeavable(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"the client leaves": false, "the server breaks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "{\"type\":\"BOOKMARK\"}\n")
				_ = http.NewResponseController(w).Flush()
				if broken {
					panic(http.ErrAbortHandler)
				}
				for r.Context().Err() == nil { // Events come, so that the proxy writes to nobody.
					_, _ = io.WriteString(w, "{\"type\":\"BOOKMARK\"}\n")
					_ = http.NewResponseController(w).Flush()
				}
			}))
			t.Cleanup(server.Close)
			target := testkit.Must(url.Parse(server.URL))(t)
			proxy := aggregator.Leavable(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
			ended := make(chan any, 1)
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { ended <- recover() }()
				proxy.ServeHTTP(w, r)
			}))
			t.Cleanup(front.Close)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			request := testkit.Must(http.NewRequestWithContext(ctx, http.MethodGet, front.URL, nil))(t)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
				t.Fatalf("%q %v", line, err)
			}
			if !broken {
				leave()
			}
			select {
			case got := <-ended:
				if want := any(http.ErrAbortHandler); broken && got != want || !broken && got != nil {
					t.Errorf("the handler panicked with %v", got)
				}
			case <-time.After(time.Minute):
				t.Fatal("the handler has not ended")
			}
		})
	}
}
