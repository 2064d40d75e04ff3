// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Ports of tests are below the ports that systems give to programs that ask for any port or make a connection (from
// 32768 on Linux), and below Kubernetes' NodePorts: no other program gets one by chance while its server is starting.
const (
	firstPort = 10_000
	lastPort  = 29_999
)

// portAttempts is how many ports are tried for one that is free.
const portAttempts = 1000

// reservations are UDP sockets of the same numbers as the ports that this process has given out: by them its
// own tests, and those of other packages that run at the same time, know what is taken.
var reservations struct {
	mu      sync.Mutex
	sockets []net.PacketConn
}

// FreePort returns a TCP port on 127.0.0.1 that nobody listens on, and that no other caller gets until this process
// ends. Where the code under test can listen on port 0 and tell its port, that is simpler.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// FreePorts returns n ports of which the same holds as of FreePort's.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		var err error
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

func freePort() (int, error) {
	var err error
	for range portAttempts {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if err = reserve(port); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d in %d attempts; the last one: %w", firstPort, lastPort, portAttempts, err)
}

// reserve takes a port for this process. It fails if another one has it, or somebody listens.
func reserve(port int) error {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	//nolint:noctx // Loopback only; it does not block.
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	//nolint:noctx // As above.
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	reservations.mu.Lock()
	defer reservations.mu.Unlock()
	reservations.sockets = append(reservations.sockets, socket)
	return listener.Close()
}
