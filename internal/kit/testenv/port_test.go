// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"net"
	"strconv"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestFreePorts: each port is given out once, nobody listens on it, and other processes can see that it is taken.
func TestFreePorts(t *testing.T) {
	t.Parallel()
	ports := testkit.Must(FreePorts(200))(t)
	seen := map[int]bool{}
	var config net.ListenConfig
	for _, port := range ports {
		if seen[port] {
			t.Errorf("port %d twice", port)
		}
		seen[port] = true
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		listener, err := config.Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Errorf("nobody can listen: %v", err)
			continue
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		if socket, err := config.ListenPacket(t.Context(), "udp", address); err == nil {
			t.Errorf("port %d is not reserved (%v)", port, socket.Close())
		}
	}
}

// TestPortInUse: a port on which somebody listens is not given out.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener := testkit.Must(config.Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port // It listens on TCP.
	if err := reserve(port); err == nil {
		t.Errorf("port %d is free, it says", port)
	}
	if socket, err := config.ListenPacket(t.Context(), "udp", listener.Addr().String()); err != nil {
		t.Errorf("what was refused is reserved: %v", err)
	} else if err := socket.Close(); err != nil {
		t.Error(err)
	}
}
