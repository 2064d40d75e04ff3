// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/atomicfile"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	testkit.NoError(t, os.WriteFile(path, []byte("a longer text from before"), 0o644))
	for _, want := range []string{"first", ""} {
		testkit.NoError(t, atomicfile.Write(path, []byte(want)))
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("the file has %q, want %q: %v", got, want, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("mode %v, want 0600: %v", info.Mode(), err)
	}
	if err := atomicfile.Write(filepath.Join(folder, "none", "file"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that isn't there: %v", err)
	}
	// A folder can't be replaced; what was begun must go.
	testkit.NoError(t, os.Mkdir(filepath.Join(folder, "taken"), 0o700))
	if err := atomicfile.Write(filepath.Join(folder, "taken"), []byte("x")); err == nil {
		t.Error("a folder was replaced")
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, want the file and the other folder: %v", entries, err)
	}
}
