// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/docket-project/docket/internal/kit/connections"
)

const shutdownTimeout = 5 * time.Second

// health answers probes and serves metrics. Probes reveal almost nothing; only metrics have a guard.
type health struct {
	listener *connections.Listener
	server   *http.Server
	// ready is nil until the process stands by or leads.
	ready atomic.Pointer[func() error]
	// scanned is nil unless the process leads.
	scanned atomic.Pointer[func() error]
}

// newHealth listens at address: with HTTPS if there is a guard, otherwise with HTTP. Requests are answered once serve
// runs.
func newHealth(ctx context.Context, address string, guard *guard) (*health, error) {
	metrics := legacyregistry.Handler()
	var encrypted *tls.Config
	if guard != nil {
		var err error
		if encrypted, err = transport(); err != nil {
			return nil, err
		}
		metrics = guard.protect(metrics)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-bind-address: %w", err)
	}
	h := &health{listener: connections.Bound(listener, connections.MostOfPeer)}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answerCheck(w, h.ready.Load()) })
	mux.HandleFunc("GET /readyz/scan", func(w http.ResponseWriter, _ *http.Request) {
		answerCheck(w, cmp.Or(h.scanned.Load(), h.ready.Load()))
	})
	h.server = connections.NewServer(mux)
	h.server.TLSConfig = encrypted
	return h, nil
}

// answerCheck makes a check, which is nil at the start.
func answerCheck(w http.ResponseWriter, check *func() error) {
	if check == nil {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	if err := (*check)(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// setReady sets the check that /readyz makes.
func (h *health) setReady(check func() error) {
	if h != nil {
		h.ready.Store(&check)
	}
}

// setScanned sets the check that /readyz/scan makes: whether the first scan of the leader is complete.
func (h *health) setScanned(check func() error) {
	if h != nil {
		h.scanned.Store(&check)
	}
}

// standBy has /readyz/scan make the check of /readyz: the process does not lead.
func (h *health) standBy(check func() error) {
	if h != nil {
		h.ready.Store(&check)
		h.scanned.Store(nil)
	}
}

// serve answers requests until ctx is done. It returns when the last one is answered.
func (h *health) serve(ctx context.Context) error {
	if err := connections.Serve(ctx, h.server, h.listener, shutdownTimeout); err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}
