// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/connections"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// dialed opens a connection from an address of the machine itself.
func dialed(t *testing.T, address, from string) net.Conn {
	t.Helper()
	conn := testkit.Must((&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", address))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// closed waits until the other side has closed a connection.
func closed(t *testing.T, conn net.Conn) {
	t.Helper()
	testkit.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	if _, err := conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the connection is not closed: %v", err)
	}
}

// post sends hello over a connection that stays, and wants it back.
func post(ctx context.Context, client *http.Client, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address, strings.NewReader("hello"))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	body, err := io.ReadAll(response.Body)
	if err == nil && string(body) != "hello" {
		err = fmt.Errorf("answer %q", body)
	}
	return err
}

// TestConnectionsOfOnePeerAreBounded: the ones that never sent a request go first, the oldest before the
// others, and who sends requests notices nothing.
func TestConnectionsOfOnePeerAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roots := issue(t, dir, false)
	s := newTestServer(t, Config{CertDir: dir, Drain: -1})
	s.listener.MostOfPeer, s.listener.Most = 20, 30
	background(t, s.Run)
	eventually(t, s.Ready)

	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	var dials atomic.Int64
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	client := &http.Client{Transport: transport}
	ask := func(when string) {
		if err := post(t.Context(), client, s.Address()); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	ask("at first")
	var silent []net.Conn
	for range 100 {
		silent = append(silent, dialed(t, s.Address(), "127.0.0.1"))
	}
	for _, conn := range silent[:81] {
		closed(t, conn)
	}
	ask("among silent connections")
	for i := range 100 {
		dialed(t, s.Address(), fmt.Sprintf("127.0.1.%d", i+1))
		ask("among silent connections of others")
	}
	if dials.Load() != 1 {
		t.Errorf("the connection that has requests was closed: %d were opened", dials.Load())
	}
}

// TestConnectionWithRequestIsNotClosed: a new one is, if all are busy.
func TestConnectionWithRequestIsNotClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roots := issue(t, dir, false)
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := newTestServer(t, Config{CertDir: dir, Drain: -1, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		close(begun)
		<-goOn
		_, _ = w.Write(body)
	})})
	s.listener.MostOfPeer = 1
	background(t, s.Run)
	eventually(t, s.Ready)
	answered := make(chan error, 1)
	go func() {
		_, err := call(t.Context(), s.Address(), &tls.Config{RootCAs: roots})
		answered <- err
	}()
	<-begun
	closed(t, dialed(t, s.Address(), "127.0.0.1"))
	close(goOn)
	if err := <-answered; err != nil {
		t.Errorf("the request that was there before: %v", err)
	}
}

// TestStreamsOfOneConnectionAreBounded: the server says so before the first request. net/http keeps callers to it.
func TestStreamsOfOneConnectionAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roots := issue(t, dir, false)
	s := newTestServer(t, Config{CertDir: dir, Drain: -1})
	background(t, s.Run)
	eventually(t, s.Ready)
	conn := tls.Client(dialed(t, s.Address(), "127.0.0.1"), &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", NextProtos: []string{"h2"}})
	const emptySettings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	testkit.Must(io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+emptySettings))(t)
	header := make([]byte, len(emptySettings))
	if _, err := io.ReadFull(conn, header); err != nil || header[3] != 4 {
		t.Fatalf("no settings but %v: %v", header, err)
	}
	settings := make([]byte, int(header[1])<<8|int(header[2]))
	testkit.Must(io.ReadFull(conn, settings))(t)
	const maxConcurrentStreams, initialWindow = 3, 4
	got := map[uint16]uint32{}
	for ; len(settings) > 0; settings = settings[6:] {
		got[binary.BigEndian.Uint16(settings)] = binary.BigEndian.Uint32(settings[2:])
	}
	if got[maxConcurrentStreams] != connections.MaxStreams || got[initialWindow] != connections.ReceiveBuffer {
		t.Errorf("%d streams at a time, %d bytes before they are read", got[maxConcurrentStreams], got[initialWindow])
	}
}
