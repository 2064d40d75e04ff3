// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
)

const (
	readHeaderTimeout = 10 * time.Second
	shutdownTimeout   = 5 * time.Second
)

// health answers probes and serves metrics. Only metrics show more than a word, and have a guard.
type health struct {
	listener net.Listener
	server   *http.Server
	// ready is nil until the process has found its role.
	ready atomic.Pointer[func() error]
}

// newHealth listens at address: over HTTPS with a guard, and over HTTP without. Requests are answered once serve runs.
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
	if encrypted != nil {
		listener = tls.NewListener(listener, encrypted)
	}
	h := &health{listener: listener}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", h.readyz)
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: readHeaderTimeout}
	return h, nil
}

func (h *health) readyz(w http.ResponseWriter, _ *http.Request) {
	check := h.ready.Load()
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

// setReady has /readyz answer with what check says.
func (h *health) setReady(check func() error) {
	if h != nil {
		h.ready.Store(&check)
	}
}

// serve returns when ctx is done and requests have been answered.
func (h *health) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(h.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve metrics: %w", err)
	case <-ctx.Done():
	}
	// The requests' own time: ctx has ended.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := h.server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.server.Close()
	}
	return errors.Join(err, ignoreClosed(<-served))
}

// ignoreClosed drops the error that a server ends with when it is told to.
func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
