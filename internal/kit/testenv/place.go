// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// maximumSocketDir leaves room for a socket's name in the 104 bytes (108 on Linux)
// that the system has for its path.
const maximumSocketDir = 60

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
