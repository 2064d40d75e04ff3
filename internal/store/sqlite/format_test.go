// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// TestFormats: a database of a newer version is used as far as it allows, and what it doesn't allow is said. Guarantee S13.
func TestFormats(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	options := sqlite.Options{Path: path, Cluster: "main"}
	closeNow(t, open(t, options))

	sqlite.Exec(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	e := open(t, options)
	fleet, err := e.Beat(t.Context(), 1, 0)
	if want := (engine.Fleet{Replicas: 1, Leads: true, Demands: engine.Demands{Reader: engine.WritesFormat}}); err != nil || fleet != want {
		t.Errorf("fleet %+v, %v; want %+v", fleet, err, want)
	}
	closeNow(t, e)

	sqlite.Exec(t, path, "UPDATE revision SET min_writer = 99")
	e = open(t, options)
	if _, err := e.State(t.Context()); err != nil {
		t.Errorf("read: %v", err)
	}
	op := engine.Op{Kind: engine.Create, Resource: "/reports/", Key: "a"}
	_, err = e.Commit(t.Context(), []engine.Op{op})
	wantError(t, err, engine.ErrReadOnly, "99", "upgrade Docket")
	closeNow(t, e)

	sqlite.Exec(t, path, "UPDATE revision SET min_reader = 99")
	_, err = sqlite.Open(t.Context(), options)
	wantError(t, err, engine.ErrSchema, path, "99", "upgrade Docket")
}
