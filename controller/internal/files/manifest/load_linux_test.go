// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestFolderThatCannotBeRead hides no other error.
func TestFolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a/locked.yaml": object("a"), "b/broken.yaml": "key: ["})
	locked := filepath.Join(dir, "a")
	testkit.NoError(t, os.Chmod(locked, 0))
	t.Cleanup(func() {
		if err := os.Chmod(locked, 0o700); err != nil { // So that it can be removed.
			t.Error(err)
		}
	})
	var err error
	asNobody(t, filepath.Join(dir, "b", "broken.yaml"), func() { _, err = (&manifest.Loader{}).Load(dir) })
	for _, part := range []string{locked + ": permission denied", filepath.Join(dir, "b", "broken.yaml") + ": yaml: "} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q in it", err, part)
		}
	}
}

// asNobody calls do without root's right to read everything. One file, in its folders, can be read all the same.
func asNobody(t *testing.T, file string, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	for up := file; up != os.TempDir() && up != filepath.Dir(up); up = filepath.Dir(up) {
		testkit.NoError(t, os.Chmod(up, 0o755))
	}
	// The user of file accesses is one of the thread, and root's capabilities for files go with it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	testkit.NoError(t, syscall.Setfsuid(nobody))
	do()
	testkit.NoError(t, syscall.Setfsuid(0))
}
