// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
	"github.com/docket-project/docket/internal/kit/connections"
)

const shutdownLimit = 10 * time.Second

// Server is the TLS server of the webhook.
type Server struct {
	config Config
	keeper *rotation.Keeper
	// bundleChanged tells of changes of the bundle.
	bundleChanged broadcast.Signal[func()]
	callers       *callers
	listener      *connections.Listener
	server        *http.Server
	ending        atomic.Bool
}

// NewServer listens; requests are answered once [Server.Run] runs.
func NewServer(ctx context.Context, config Config) (*Server, error) {
	config.complete()
	s := &Server{config: config}
	s.keeper = s.newKeeper()
	var err error
	if s.callers, err = newCallers(&s.config); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", config.Address)
	if err != nil {
		return nil, fmt.Errorf("--webhook-bind-address: %w", err)
	}
	s.listener = connections.Bound(listener, connections.MostOfPeer)
	s.listener.Closed = connectionsClosed.Inc
	s.server = s.newHTTP(ctx)
	return s, nil
}

func (s *Server) newHTTP(ctx context.Context) *http.Server {
	secure := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.keeper.GetCertificate, NextProtos: []string{"h2", "http/1.1"}}
	s.callers.restrict(secure)
	server := connections.NewServer(s.config.Handler)
	server.TLSConfig, server.ErrorLog = secure, log.New(errorLog{klog.FromContext(ctx)}, "", 0)
	return server
}

// Run serves until ctx is done, then for Config.Drain, and then waits for requests that are being
// answered, for ten seconds at most. The handler must live as long. Call it once.
func (s *Server) Run(ctx context.Context) error {
	// Also while draining: new connections need a certificate that is good.
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	serving, end := context.WithCancel(following)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { s.keeper.Run(following) })
	group.Go(func() { s.callers.run(following) })
	group.Go(func() {
		defer end()
		s.drain(ctx, following)
	})
	if err := connections.Serve(serving, s.server, s.listener, shutdownLimit); err != nil {
		return fmt.Errorf("serve the webhook: %w", err)
	}
	return nil
}

// drain waits until ctx is done, and then while requests still come, or until nobody serves any more.
func (s *Server) drain(ctx, following context.Context) {
	select {
	case <-following.Done():
		return
	case <-ctx.Done():
	}
	s.ending.Store(true)
	if s.config.Drain < 0 {
		return
	}
	timer := s.config.Clock.NewTimer(s.config.Drain)
	defer timer.Stop()
	select {
	case <-following.Done():
	case <-timer.C():
	}
}

// Ready says why requests can't be answered; nil if they can.
func (s *Server) Ready() error {
	if s.ending.Load() {
		return errors.New("the webhook is ending")
	}
	return s.keeper.Ready()
}

// Address is where the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// CABundle returns the authorities to trust, as PEM; nil if they are not known here.
func (s *Server) CABundle() []byte { return s.keeper.Bundle() }

// Subscribe has changed called after each change of the bundle until the returned function is
// called. It must return quickly.
func (s *Server) Subscribe(changed func()) (unsubscribe func()) {
	return s.bundleChanged.Subscribe(changed)
}

// errorLog takes what net/http has to say: of callers that don't trust the certificate above all,
// which can be many a second, and of panics.
type errorLog struct{ logger klog.Logger }

func (e errorLog) Write(line []byte) (int, error) {
	text := string(bytes.TrimSpace(line))
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		// Probes that only connect end with EOF.
		if !bytes.HasSuffix(bytes.TrimSpace(line), []byte(": EOF")) {
			handshakeErrors.Inc()
		}
		e.logger.V(2).Info("A connection to the webhook failed", "cause", text)
		return len(line), nil
	}
	e.logger.Info("The webhook's server says", "message", text)
	return len(line), nil
}
