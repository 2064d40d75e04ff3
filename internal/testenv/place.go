// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// maximumSocketDir leaves room for a socket's name in the 104 bytes (108 on Linux)
// that the system has for its path.
const maximumSocketDir = 60

// FreePort returns a TCP port on 127.0.0.1 that nobody listens on at this moment.
// Another process may take it before the caller does: prefer to listen on port 0 and
// ask for the port where the code under test can do that.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	return port
}

// FreePorts returns n different ports of which the same holds as of FreePort's.
func FreePorts(n int) ([]int, error) {
	var ports []int
	var listeners []net.Listener
	var errs []error
	for range n {
		//nolint:noctx // Loopback only; it does not block.
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			errs = append(errs, err)
			break
		}
		listeners = append(listeners, listener)
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // It listens on TCP.
	}
	for _, listener := range listeners {
		errs = append(errs, listener.Close())
	}
	return ports, errors.Join(errs...)
}

func freePort() (int, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

// SocketDir returns a new folder whose path is short enough for unix sockets, which
// t.TempDir with a long test name is not. It is removed when the test ends.
func SocketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(tempBase(false), "docket-") //nolint:usetesting // Its path would be too long.
	if err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}

// tempBase is the folder for temporary folders: TMPDIR, unless sockets in it would
// have too long a path or, if otherUsers, other users can't enter it.
func tempBase(otherUsers bool) string {
	base := os.TempDir()
	if len(base) > maximumSocketDir || (otherUsers && !openToAll(base)) {
		return "/tmp"
	}
	return base
}

// openToAll reports whether every user can enter dir.
func openToAll(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}
