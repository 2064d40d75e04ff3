// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/connections"
)

// TestConnectionsOfGatewayAreBounded: those that send nothing give way, the oldest first.
func TestConnectionsOfGatewayAreBounded(t *testing.T) {
	t.Parallel()
	g := start(t, newCluster(t).config("alice-token"))
	var oldest net.Conn
	for range connections.Most + 1 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.url, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if oldest == nil {
			oldest = conn
		}
	}
	// The library closes all after 32 s.
	if err := oldest.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := oldest.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the oldest connection is not closed: %v", err)
	}
	if code, body := g.get("/readyz", ""); code != http.StatusOK {
		t.Errorf("among them, /readyz says %d %s", code, body)
	}
}
