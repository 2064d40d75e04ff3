// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/docket-project/docket/internal/kit/connections"
)

// buildHandlerChain is the library's chain, with connections that a server which is
// about to end hands over to other replicas.
//
// It begins after half of the shutdown delay: by then the cluster should have taken
// this replica out of its Service, so that new connections go elsewhere. Each GOAWAY
// costs the writes that cross it on the wire a 503, hence not earlier and again.
func buildHandlerChain(handler http.Handler, c *genericapiserver.Config) http.Handler {
	after := c.ShutdownDelayDuration / 2 //nolint:mnd // Half.
	initiated := c.ShutdownInitiatedNotify()
	// The first request that finds the server ending starts the clock; the probes
	// that go on all the time make that soon.
	begins := sync.OnceValue(func() time.Time { return time.Now().Add(after) })
	// The timeout of requests begins a goroutine of its own within the chain: both get their stack.
	return connections.Count(handOver(withStack(genericapiserver.DefaultBuildHandlerChain(withStack(handler), c)), func() bool {
		select {
		case <-initiated:
			return !time.Now().Before(begins())
		default:
			return false
		}
	}))
}

// handOver closes connections once ending says so: each after the response that is
// under way, HTTP/2 ones by a GOAWAY, which leaves their open watches alone.
//
// Why: a kube-apiserver sends everybody's requests over one connection that it keeps.
// Taking a replica out of its Service moves new connections only. Without this the
// requests would stay until the server takes no more, and be refused then; a client
// such as policy-reporter does not recover from one LIST or WATCH that is refused.
func handOver(next http.Handler, ending func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ending() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
