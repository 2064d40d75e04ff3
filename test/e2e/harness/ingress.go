// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// Ingress stands for an ingress controller: it serves HTTPS for a host on loopback, and passes requests on.
type Ingress struct {
	// Address is where it listens.
	Address string

	client *http.Client
	behind atomic.Pointer[http.Handler]
}

// NewIngress starts one with a certificate for the host. It ends with the test.
func NewIngress(t testing.TB, host string) *Ingress {
	t.Helper()
	authority := testkit.Must(newAuthority(t.TempDir(), "ingress"))(t)
	i := &Ingress{}
	port := serveTLS(t, authority, host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		behind := i.behind.Load()
		if behind == nil {
			http.Error(w, "nothing is behind the ingress", http.StatusServiceUnavailable)
			return
		}
		(*behind).ServeHTTP(w, r)
	}))
	i.Address = fmt.Sprintf("127.0.0.1:%d", port)
	trusted := x509.NewCertPool()
	trusted.AddCert(authority.certificate)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, i.Address)
		},
	}
	i.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return i
}

// Ask gets an address of the host, and follows no redirects. It returns the code, the headers and the text of the
// answer.
func (i *Ingress) Ask(t testing.TB, address string, header http.Header) (status int, answered http.Header, text string) {
	t.Helper()
	r := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))(t)
	r.Header = header.Clone()
	response, err := i.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	answer := testkit.Must(io.ReadAll(response.Body))(t)
	return response.StatusCode, response.Header, string(answer)
}

// Send passes requests on to an address from now on.
func (i *Ingress) Send(address string) {
	behind := passOn(address)
	i.behind.Store(&behind)
}

// passOn is a handler that sends requests to an address, with the host for which they are, and who sent them.
func passOn(address string) http.Handler {
	return &httputil.ReverseProxy{
		// The server behind may serve one connection at a time.
		Transport: &http.Transport{DisableKeepAlives: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.SetXForwarded()
			r.Out.Host = r.In.Host
		},
		FlushInterval: -1, // Watches are read as they are written.
	}
}

// serveTLS serves a host on a port of loopback, which it returns, until the test ends.
func serveTLS(t testing.TB, authority *authority, host string, handler http.Handler) int {
	t.Helper()
	files := testkit.Must(authority.issue(t.TempDir(), host, nil, []string{host}))(t)
	pair := testkit.Must(tls.LoadX509KeyPair(files.certificate, files.key))(t)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().(*net.TCPAddr).Port // TCP.
}

// answers reports whether an address answers with 200.
func answers(ctx context.Context, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.Body.Close() == nil && err == nil && response.StatusCode == http.StatusOK
}
