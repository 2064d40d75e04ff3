// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// Crowd opens n connections to an address, which send nothing, and wants the first one to be closed within a time.
// All stay until the test ends.
func Crowd(t testing.TB, address string, n int, within time.Duration) {
	t.Helper()
	opened := make([]net.Conn, n)
	for i := range opened {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		opened[i] = conn
	}
	if err := opened[0].SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	if _, err := opened[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the oldest of %d connections is not closed: %v", n, err)
	}
}
