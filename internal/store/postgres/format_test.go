// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"errors"
	"os"
	"testing"
	"testing/fstest"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// TestFormatWaitsForOldReplicas: a format is allowed when no living replica is left that can't read it. Guarantee S13.
func TestFormatWaitsForOldReplicas(t *testing.T) {
	t.Parallel()
	databaseURL := testenv.Postgres(t).Database(t)
	e := open(t, databaseURL, "main")
	execute(t, databaseURL, `INSERT INTO docket.replica (cluster, id, reads, derives, seen)
		SELECT id, 'old', 0, 0, clock_timestamp() FROM docket.cluster`)
	beat := func(want engine.Fleet) {
		t.Helper()
		if got, err := e.Beat(t.Context(), 1, 0); err != nil || got != want {
			t.Errorf("fleet %+v, %v; want %+v", got, err, want)
		}
	}
	beat(engine.Fleet{Replicas: 2, Leads: true})
	execute(t, databaseURL, `UPDATE docket.replica SET derives = 2 WHERE id = 'old'`)
	beat(engine.Fleet{Replicas: 2})
	execute(t, databaseURL, `UPDATE docket.replica SET seen = seen - interval '61 seconds' WHERE id = 'old'`)
	beat(engine.Fleet{Replicas: 1, Leads: true, Demands: engine.Demands{Reader: engine.WritesFormat}})

	other := open(t, databaseURL, "main")
	if fleet, err := other.Beat(t.Context(), 1, 7); err != nil || fleet.Replicas != 2 || fleet.Needs != 0 {
		t.Errorf("fleet %+v, %v; want two replicas", fleet, err)
	}
	if fleet, err := e.Beat(t.Context(), 1, 9); err != nil || fleet.Needs != 7 {
		t.Errorf("fleet %+v, %v; want one that needs revision 7", fleet, err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	beat(engine.Fleet{Replicas: 1, Leads: true, Demands: engine.Demands{Reader: engine.WritesFormat}})
}

// TestFormats: a database of a newer version, with an invented migration, is used as far as it allows, also by those
// that have it open. Guarantee S13.
func TestFormats(t *testing.T) {
	t.Parallel()
	databaseURL := testenv.Postgres(t).Database(t)
	e := open(t, databaseURL, "main")
	commit(t, e, []engine.Op{create("a")})

	first := testkit.Must(os.ReadFile("migrations/00001_schema.sql"))(t)
	next := "-- +goose Up\nALTER TABLE docket.object ADD COLUMN next int2 NOT NULL DEFAULT 2;"
	testkit.NoError(t, e.Migrate(t.Context(), databaseURL, fstest.MapFS{"00001_schema.sql": {Data: first}, "00002_next.sql": {Data: []byte(next)}}))
	commit(t, e, []engine.Op{create("beside")})
	commit(t, open(t, databaseURL, "main"), []engine.Op{create("beside too")})
	execute(t, databaseURL, `UPDATE docket.object SET next = 3; UPDATE docket.revision SET min_writer = 9999`)
	wantReadOnly := func(e engine.Engine) {
		t.Helper()
		if row, _, err := e.Get(t.Context(), create("a").Resource, "a"); err != nil || row == nil {
			t.Errorf("read: %v, %v", row, err)
		}
		_, err := e.Commit(t.Context(), []engine.Op{create("b")})
		if !errors.Is(err, engine.ErrReadOnly) {
			t.Fatalf("commit: %v, want %v", err, engine.ErrReadOnly)
		}
		wantWords(t, err, "9999", "upgrade Docket")
		if err := e.Tidy(t.Context()); !errors.Is(err, engine.ErrReadOnly) {
			t.Errorf("tidy: %v, want %v", err, engine.ErrReadOnly)
		}
	}
	wantReadOnly(e)
	wantReadOnly(open(t, databaseURL, "main"))

	execute(t, databaseURL, `UPDATE docket.revision SET min_writer = 0, min_reader = 9999`)
	if _, err := e.Beat(t.Context(), 1, 0); !errors.Is(err, engine.ErrSchema) {
		t.Errorf("beat: %v, want %v", err, engine.ErrSchema)
	}
}
