// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Save copies the folder of a server that was stopped, as a snapshot of its disk would. putBack puts the copy back in
// its place: the server has to be stopped then as well.
func (d *Dedicated) Save(t testing.TB) (putBack func()) {
	t.Helper()
	data, saved := filepath.Join(d.process.dir, "data"), filepath.Join(d.process.dir, "saved")
	d.process.copyFolder(t, data, saved)
	return func() {
		t.Helper()
		if err := os.RemoveAll(data); err != nil {
			t.Fatalf("remove what a snapshot replaces: %v", err)
		}
		d.process.copyFolder(t, saved, data)
	}
}

// copyFolder copies a folder of the server, which must not run.
func (p *process) copyFolder(t testing.TB, from, to string) {
	t.Helper()
	if p.running() {
		t.Fatal("the server runs: a copy of its folder would be of several times")
	}
	if err := p.install.copyTree(from, to, p.install.runAs); err != nil {
		t.Fatalf("copy the folder of a server: %v", err)
	}
}
