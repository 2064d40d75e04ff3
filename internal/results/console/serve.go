// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/docket-project/docket/internal/kit/connections"
)

const (
	// writeTimeout is longer than the cluster takes for an answer: it gives up after a minute.
	writeTimeout    = 2 * time.Minute
	shutdownTimeout = time.Second
	// maxHeaders bounds the headers of a request, in bytes: tokens and cookies of people in many groups are long.
	maxHeaders = 128 << 10
)

// serve has requests answered until ctx ends, with encryption if there is a configuration for it. It closes the
// listener.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, encryption *tls.Config) error {
	server := connections.NewServer(handler)
	server.TLSConfig, server.BaseContext = encryption, func(net.Listener) context.Context { return ctx }
	server.WriteTimeout, server.MaxHeaderBytes = writeTimeout, maxHeaders
	// All may come from one proxy.
	return connections.Serve(ctx, server, connections.Bound(listener, connections.Most), shutdownTimeout)
}
