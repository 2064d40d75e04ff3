// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = 10 * time.Second
	// readTimeout is for a question, which has at most MaxBody bytes.
	readTimeout = 30 * time.Second
	// writeTimeout is longer than the cluster takes for an answer: it gives up after a minute.
	writeTimeout    = 2 * time.Minute
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = time.Second
	// maxHeaders bounds the headers of a request, in bytes: tokens and cookies of people in many groups are long.
	maxHeaders = 128 << 10
)

// serve has requests answered until ctx ends, with encryption if there is a configuration for it. It closes the listener.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, encryption *tls.Config) error {
	server := &http.Server{
		Handler: handler, TLSConfig: encryption, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaders,
	}
	ended := make(chan error, 1)
	go func() {
		if encryption != nil {
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
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	// Browsers open connections ahead of requests, and these count as busy for some seconds: they are closed all the same.
	if err := server.Shutdown(bounded); errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	} else if err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
