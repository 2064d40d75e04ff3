// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// insideVariable tells a test that it runs in a process with mounts of its own.
const insideVariable = "DOCKET_SQLITE_INSIDE"

// withMounts runs the calling test again in a process that may mount, and
// reports whether this is that process.
func withMounts(t *testing.T) (inside bool) {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		testkit.NoError(t, syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
		return true
	}
	executable := testkit.Must(os.Executable())(t)
	child := exec.CommandContext(t.Context(), executable, "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), insideVariable+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if id := os.Getuid(); id != 0 {
		child.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	output, err := child.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("needs the right to mount: run it as root")
	}
	if err != nil {
		t.Fatalf("in a process of its own: %v\n%s", err, output)
	}
	return false
}

// mount mounts a memory file system on a fresh folder.
func mount(t *testing.T, options string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	testkit.NoError(t, syscall.Mount("tmpfs", folder, "tmpfs", 0, options))
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return folder
}

func remount(t *testing.T, folder string, flags uintptr, options string) {
	t.Helper()
	testkit.NoError(t, syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_REMOUNT|flags, options))
}

// TestDiskFull is TestFull with a disk that is full.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if !withMounts(t) {
		return
	}
	folder := mount(t, "size=3m")
	e := open(t, sqlite.Options{Path: filepath.Join(folder, "docket.db"), Cluster: "main"})
	next, err := fill(t, e)
	wantError(t, err, engine.ErrFull)
	checkAll(t, e, next)
	_, err = e.Commit(t.Context(), reports(next, 10))
	wantError(t, err, engine.ErrFull)
	checkAll(t, e, next)
	remount(t, folder, 0, "size=30m")
	commit(t, e, reports(next, 100))
	checkAll(t, e, next+100)
	closeNow(t, e)
	checkAll(t, open(t, sqlite.Options{Path: filepath.Join(folder, "docket.db"), Cluster: "main"}), next+100)
}

// TestDiskReadOnly opens a database on a disk that can't be written.
func TestDiskReadOnly(t *testing.T) {
	t.Parallel()
	if !withMounts(t) {
		return
	}
	folder := mount(t, "size=30m")
	path := filepath.Join(folder, "docket.db")
	closeNow(t, open(t, sqlite.Options{Path: path, Cluster: "main"}))
	remount(t, folder, syscall.MS_RDONLY, "")
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Cluster: "main"})
	wantError(t, err, engine.ErrReadOnly, path, "writable")
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(folder, "new.db"), Cluster: "main"})
	wantError(t, err, engine.ErrReadOnly, "new.db", "writable")
}
