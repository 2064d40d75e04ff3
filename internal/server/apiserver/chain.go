// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/docket-project/docket/internal/kit/connections"
	"github.com/docket-project/docket/internal/server/registration"
)

// buildChain puts our handlers around the library's chain. They stand here in the order in which a request leaves
// them: the last one sees it first. held is nil for a database without holds.
func (c CompletedConfig) buildChain(held *holds) {
	limits := newBodyLimits(c.Generic.MaxRequestBodyBytes, c.RequestBytesInFlight)
	c.Generic.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		handler = withCompression(handler)
		// After authentication and authorization: strangers can't take the place of users.
		if held != nil {
			handler = held.wrap(handler)
		}
		handler = limits.wrap(handler)
		// The library's timeout begins a goroutine within its chain, hence on both sides of it.
		handler = withStack(handler)
		handler = genericapiserver.DefaultBuildHandlerChain(handler, config)
		handler = withStack(handler)
		handler = handOver(handler, ending(config))
		handler = connections.Count(handler)
		handler = withReadDeadline(handler)
		// The checks of all replicas know our answers by a header.
		return registration.Mark(handler, c.served)
	}
}

// ending returns whether connections are to be handed over to other replicas: from half of the shutdown delay on. By
// then the cluster should have taken this replica out of its Service, so that new connections go elsewhere. Each
// GOAWAY costs the writes that cross it on the wire a 503, hence not earlier and again.
func ending(c *genericapiserver.Config) func() bool {
	after := c.ShutdownDelayDuration / 2
	initiated := c.ShutdownInitiatedNotify()
	// The first request that finds the server ending starts the clock; the probes
	// that go on all the time make that soon.
	begins := sync.OnceValue(func() time.Time { return time.Now().Add(after) })
	return func() bool {
		select {
		case <-initiated:
			return !time.Now().Before(begins())
		default:
			return false
		}
	}
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
