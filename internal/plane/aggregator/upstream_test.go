// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestUpstreamDiscoveryIsAskedWithItsTag: a cluster that serves what it did is not read again. It is
// not parallel: while it waited for its turn, TestEndsCompletely would take it for a goroutine that is left.
func TestUpstreamDiscoveryIsAskedWithItsTag(t *testing.T) {
	var away atomic.Bool
	cluster := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const tag = `"1"`
		switch {
		case away.Load():
			http.Error(w, "no way to it", http.StatusBadGateway)
		case r.Header.Get("If-None-Match") == tag:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			w.Header().Set("Etag", tag)
			_, _ = fmt.Fprint(w, `{"items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}`) // A client that left fails the test itself.
		}
	}))
	t.Cleanup(cluster.Close)
	f := testkit.Must(newFetcher(&rest.Config{Host: cluster.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}))(t)
	groups, etag, err := f.discover(t.Context(), "")
	if err != nil || len(groups) != 1 || groups[0].Name != "apps" || etag == "" {
		t.Fatalf("%v, tag %q, %v", groups, etag, err)
	}
	if _, _, err := f.discover(t.Context(), etag); !errors.Is(err, errUnchanged) {
		t.Errorf("got %v", err)
	}
	away.Store(true)
	if _, _, err := f.discover(t.Context(), etag); err == nil || !strings.Contains(err.Error(), "502") {
		t.Errorf("got %v", err)
	}
	away.Store(false)
	if _, err := f.get(t.Context(), "/apis", acceptJSON, "", 3); !errors.Is(err, errTooLarge) || !strings.Contains(err.Error(), "at most 3") {
		t.Errorf("a document beyond the limit: %v", err)
	}
}
