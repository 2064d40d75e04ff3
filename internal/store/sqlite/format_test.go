// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// TestFormats: a database of a newer version, with an invented migration, is used as far as it allows, and what it
// doesn't allow is said. Guarantee S13.
func TestFormats(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	options := sqlite.Options{Path: path, Cluster: "main"}
	e := open(t, options)
	commit(t, e, []engine.Op{{Kind: engine.Create, Resource: "/reports/", Key: "before"}})
	closeNow(t, e)

	first, err := os.ReadFile("migrations/00001_schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	sqlite.Migrate(t, path, fstest.MapFS{
		"00001_schema.sql": {Data: first},
		"00002_next.sql":   {Data: []byte("-- +goose Up\nALTER TABLE object ADD COLUMN next INTEGER NOT NULL DEFAULT 2;")},
	})
	if n := count(t, path, "SELECT sum(next) FROM object"); n != 2 {
		t.Errorf("the new column adds up to %d", n)
	}
	e = open(t, options)
	commit(t, e, []engine.Op{{Kind: engine.Create, Resource: "/reports/", Key: "beside"}})
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
