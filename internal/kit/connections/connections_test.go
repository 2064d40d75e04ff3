// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const patience = time.Minute

func listen(t *testing.T) *Listener {
	t.Helper()
	listener := testkit.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	return Bound(listener, MostOfPeer)
}

// start serves until the test ends. The server is not ours, as that of k8s.io/apiserver is not.
func start(t *testing.T, listener *Listener, encrypted, http2 bool, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(Count(handler))
	_ = server.Listener.Close()
	server.Listener, server.EnableHTTP2 = listener, http2
	if encrypted {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// silent opens a connection that sends nothing.
func silent(t *testing.T, listener *Listener) net.Conn {
	t.Helper()
	conn := testkit.Must((&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// wantClosed waits until the server has closed a connection.
func wantClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	testkit.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is not closed: %v", err)
	}
}

// TestBusyConnectionsStay: with room for a single connection, one with a request that is being answered keeps it,
// whatever the protocol is, and whether the request has a body or not.
func TestBusyConnectionsStay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		encrypted, http2 bool
		body             string
	}{
		"HTTP": {}, "HTTP with a body": {body: "hello"}, "HTTPS": {encrypted: true}, "HTTP/2": {encrypted: true, http2: true},
		"HTTP/2 with a body": {encrypted: true, http2: true, body: "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener := listen(t)
			listener.MostOfPeer = 1
			closed := make(chan struct{}, 1)
			listener.Closed = func() { closed <- struct{}{} }
			begun, goOn := make(chan struct{}), make(chan struct{})
			server := start(t, listener, test.encrypted, test.http2, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(w, r.Body)
				close(begun)
				<-goOn
			})
			answered := make(chan error, 1)
			go func() {
				answer, err := server.Client().Post(server.URL, "text/plain", strings.NewReader(test.body))
				if err == nil {
					_, err = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
				answered <- err
			}()
			<-begun
			wantClosed(t, silent(t, listener))
			<-closed
			close(goOn)
			if err := <-answered; err != nil {
				t.Errorf("the request that was there before: %v", err)
			}
			// Now it is idle, and gives way.
			next := silent(t, listener)
			<-closed
			testkit.NoError(t, next.SetReadDeadline(time.Now()))
			if _, err := next.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a connection for which there is room is closed: %v", err)
			}
		})
	}
}

// TestCount: connections that end make room, and no request is counted after its end.
func TestCount(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	listener.Most = 3
	var kept io.Reader
	server := start(t, listener, false, false, func(_ http.ResponseWriter, r *http.Request) { kept = r.Body })
	answer, err := server.Client().Post(server.URL, "text/plain", strings.NewReader("unread"))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	_, _ = io.Copy(io.Discard, kept)
	opened := make([]net.Conn, 9)
	for i := range opened {
		opened[i] = silent(t, listener)
	}
	for _, conn := range opened[:6] {
		wantClosed(t, conn)
	}
	server.Close()
	listener.mu.Lock()
	defer listener.mu.Unlock()
	if listener.count != 0 || len(listener.peers) != 0 {
		t.Errorf("%d connections, %d peers after the end", listener.count, len(listener.peers))
	}
}

// TestServerHasAllBounds: nothing that a client can take is without end.
func TestServerHasAllBounds(t *testing.T) {
	t.Parallel()
	s := NewServer(http.NotFoundHandler())
	for name, bound := range map[string]time.Duration{"header": s.ReadHeaderTimeout, "read": s.ReadTimeout, "write": s.WriteTimeout, "idle": s.IdleTimeout} {
		if bound <= 0 || bound > 5*time.Minute {
			t.Errorf("%s: %s", name, bound)
		}
	}
	if s.MaxHeaderBytes <= 0 || s.HTTP2.MaxConcurrentStreams <= 0 || s.HTTP2.MaxReceiveBufferPerConnection <= 0 {
		t.Errorf("headers of %d bytes, HTTP/2 %+v", s.MaxHeaderBytes, s.HTTP2)
	}
}

// TestServe: what listens no more is an error; at the end a request has its grace, and no more.
func TestServe(t *testing.T) {
	t.Parallel()
	gone := listen(t)
	_ = gone.Close()
	if err := Serve(t.Context(), NewServer(http.NotFoundHandler()), gone, time.Second); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
	listener := listen(t)
	begun := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- Serve(ctx, NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
		})), listener, time.Millisecond)
	}()
	failed := make(chan error, 1)
	go func() {
		answer, err := http.Get("http://" + listener.Addr().String())
		if err == nil {
			_ = answer.Body.Close()
		}
		failed <- err
	}()
	<-begun
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if <-failed == nil {
		t.Error("a request without end was answered")
	}
}
