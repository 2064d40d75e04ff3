// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connections has what every server of ours needs against clients that open many connections, or are slow.
package connections

import (
	"context"
	"errors"
	"net/http"
	"time"
)

const (
	// readHeaderTime bounds the handshake, too.
	readHeaderTime = 5 * time.Second
	// requestLimit bounds a request with its answer: kube-apiserver waits for 30 s at most.
	requestLimit = 35 * time.Second
	// idleTime is longer than Kubernetes' clients keep connections without requests: the side
	// that sends should be the one that closes.
	idleTime  = 2 * time.Minute
	maxHeader = 64 << 10
	// MaxStreams is how many requests a connection has at a time.
	MaxStreams = 100
	// ReceiveBuffer is how much a connection may send before it is read.
	ReceiveBuffer = 128 << 10
)

// NewServer returns a server with all bounds, for a [Listener].
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: Count(handler), ReadHeaderTimeout: readHeaderTime, ReadTimeout: requestLimit, WriteTimeout: requestLimit,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: MaxStreams, MaxReceiveBufferPerConnection: ReceiveBuffer, MaxReceiveBufferPerStream: ReceiveBuffer,
		},
	}
}

// Serve has requests answered until ctx is done, over HTTPS if the server has a configuration for it. Then it waits
// for those that are being answered, for as long as grace at most. It closes the listener.
func Serve(ctx context.Context, server *http.Server, listener *Listener, grace time.Duration) error {
	ended := make(chan error, 1)
	go func() {
		if server.TLSConfig != nil {
			ended <- server.ServeTLS(listener, "", "")
			return
		}
		ended <- server.Serve(listener)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// With a time of its own: ctx is done.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(bounded)
	// Browsers open connections ahead of requests, and these count as busy for some seconds: they are closed all the same.
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if serveErr := <-ended; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}
