// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package conformancetest

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/conformance/broken"
)

// Proxy is a server in front of another one.
type Proxy struct {
	// Config is the way to the proxy, with the credentials of the way to the server.
	Config *rest.Config
	server *httptest.Server
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// NewProxy starts a proxy on loopback, in front of a server with a bearer token in its config. Who
// has no token at the proxy has none at the server.
func NewProxy(config *rest.Config, breakage func(next http.Handler) http.Handler) (*Proxy, error) {
	anonymous := rest.AnonymousClientConfig(config)
	base, _, err := rest.DefaultServerUrlFor(anonymous)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(anonymous)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(base)
			r.Out.Host = ""
			// A server may end a connection just when a request begins: it is sent once more.
			if r.Out.Body != nil {
				body := broken.BodyOf(r.Out)
				r.Out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
			}
		},
		Transport: transport, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), // Clients go while they are answered.
	}
	server := httptest.NewServer(breakage(proxy))
	through := &rest.Config{Host: server.URL, BearerToken: config.BearerToken, BearerTokenFile: config.BearerTokenFile, QPS: -1}
	return &Proxy{through, server}, nil
}
