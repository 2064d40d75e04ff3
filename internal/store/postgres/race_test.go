// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// A replica's transaction, held open where it has written everything and only
// the commit is missing.
const (
	heldCounter = `UPDATE docket.revision SET revision = revision + 1 RETURNING revision`
	heldObject  = `INSERT INTO docket.object (cluster, resource, key, revision, created, expires_at, size, codec, data)
		SELECT cluster, resource, 'held', $1, $1, 0, 0, 0, '' FROM docket.object LIMIT 1`
	heldEvent = `INSERT INTO docket.event (cluster, revision, resource, key, kind, created, previous_revision, previous_codec,
			previous_size, committed_at, total_bytes)
		SELECT cluster, $1, resource, 'held', 1, $1, 0, 0, 0, clock_timestamp(), 0 FROM docket.object LIMIT 1`
	waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
)

// TestListThenLowerRevisionCommits: guarantee S1. Where revisions come from a
// sequence, a writer that is slow to commit has a lower revision than one that
// committed since; a watch from a list in between misses it forever. Here the
// faster writer has to wait, so that a list never shows a revision above one that
// is still to come.
func TestListThenLowerRevisionCommits(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e := open(t, url, "main")
	commit(t, e, []engine.Op{create("a")})

	slow, held := holdWriter(t, url)
	faster := make(chan engine.Revision, 1)
	go func() {
		batch, err := e.Commit(t.Context(), []engine.Op{create("b")})
		if err != nil {
			t.Errorf("commit of the faster writer: %v", err)
		}
		faster <- batch.State.Revision
	}()
	waitForWaiter(t, url)

	page, err := e.List(t.Context(), engine.Query{Resource: reports})
	if err != nil || len(page.Rows) != 1 || page.State.Revision != held-1 {
		t.Errorf("list while %d is held: %d rows at %d, %v; want 1 row at %d", held, len(page.Rows), page.State.Revision, err, held-1)
	}
	testkit.NoError(t, slow.Commit(t.Context()))
	if got := <-faster; got != held+1 {
		t.Errorf("the faster writer got %d, want %d", got, held+1)
	}
	events, _, err := e.Events(t.Context(), page.State.Revision, 10)
	if err != nil || len(events) != 2 || events[0].Revision != held || events[0].Key != "held" || events[1].Revision != held+1 {
		t.Errorf("events after the list: %+v, %v; want %d and %d", events, err, held, held+1)
	}
}

// TestDerivationWaitsForCommits: what is noted of derived rows is in the row of the sums, which a commit under way
// has found already.
func TestDerivationWaitsForCommits(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e := open(t, url, "main")
	commit(t, e, []engine.Op{create("a")})
	for name, work := range map[string]func() error{
		"begin": func() error {
			_, err := e.BeginDerivation(t.Context(), reports, 2)
			return err
		},
		"finish": func() error {
			_, err := e.FinishDerivation(t.Context(), reports, 2, 0)
			return err
		},
	} {
		slow, _ := holdWriter(t, url)
		done := make(chan error, 1)
		go func() { done <- work() }()
		waitForWaiter(t, url)
		testkit.NoError(t, slow.Rollback(t.Context()))
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// holdWriter returns an open transaction that has taken a revision.
func holdWriter(t *testing.T, url string) (pgx.Tx, engine.Revision) {
	t.Helper()
	tx := testkit.Must(connect(t, url).Begin(t.Context()))(t)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	var revision engine.Revision
	testkit.NoError(t, tx.QueryRow(t.Context(), heldCounter).Scan(&revision))
	for _, statement := range []string{heldObject, heldEvent} {
		testkit.Must(tx.Exec(t.Context(), statement, revision))(t)
	}
	return tx, revision
}

// waitForWaiter returns when a session waits for a lock.
func waitForWaiter(t *testing.T, url string) {
	t.Helper()
	conn := connect(t, url)
	for deadline := time.Now().Add(time.Minute); ; {
		var count int
		testkit.NoError(t, conn.QueryRow(t.Context(), waiting).Scan(&count))
		if count > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the faster writer doesn't wait for the slow one")
		}
	}
}
