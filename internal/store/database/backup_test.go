// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/database"
)

// broken is a client that has gone.
type broken struct{}

var errGone = errors.New("gone")

func (broken) Write([]byte) (int, error) { return 0, errGone }

// TestBackupTo: what a killed process of the same number has left is in nobody's way, and nothing is left.
func TestBackupTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "docket.db")
	url := "sqlite://" + path
	opened := testkit.Must(database.Open(t.Context(), url, database.Options{Cluster: "c"}))(t)
	t.Cleanup(func() { _ = opened.Close() })
	testkit.NoError(t, os.WriteFile(fmt.Sprintf("%s.backup-%d", path, os.Getpid()), []byte("half"), 0o600))
	var out bytes.Buffer
	if err := database.BackupTo(t.Context(), url, &out); err != nil || !bytes.HasPrefix(out.Bytes(), []byte("SQLite format 3")) {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
	if err := database.BackupTo(t.Context(), url, broken{}); !errors.Is(err, errGone) {
		t.Errorf("to a client that has gone: %v", err)
	}
	if left, err := filepath.Glob(path + ".backup*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
