// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
)

// TestConnections: a process has few connections whatever it is asked for, and reads and writes that hang keep nobody
// from the state, which reports whether it is ready.
func TestConnections(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e, err := postgres.Open(t.Context(), postgres.Options{URL: url, Cluster: "main"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	commit(t, e, []engine.Op{create("a")})
	other := connect(t, url)
	testkit.Must(other.Exec(t.Context(), `BEGIN; LOCK TABLE docket.object IN ACCESS EXCLUSIVE MODE`))(t)
	ctx := t.Context()
	var hanging sync.WaitGroup
	defer hanging.Wait()
	defer func() { _, _ = other.Exec(ctx, `ROLLBACK`) }()
	var ended atomic.Bool
	for i := range 20 {
		hanging.Go(func() { _, _, _ = e.Get(ctx, reports, "a"); ended.Store(true) })
		hanging.Go(func() { _, _, _ = e.Events(ctx, 1, 10) })
		hanging.Go(func() { _, _ = e.Commit(ctx, []engine.Op{create(fmt.Sprint("b", i))}) })
		hanging.Go(func() { _ = e.Compact(ctx, 1); _ = e.Tidy(ctx) })
	}
	hanging.Go(func() { _, _, _ = e.Events(engine.Urgent(ctx), 1, 10) }) // The one that others depend on.
	const expected = 8
	testkit.Eventually(t, "three reads, a commit and the events wait for the table", func() bool {
		var waiting int
		testkit.NoError(t, other.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'docket.object'::regclass`).Scan(&waiting))
		return waiting >= 5
	})
	if _, err := e.State(t.Context()); err != nil || ended.Load() {
		t.Errorf("the state, while all others hang (not any more: %v): %v", ended.Load(), err)
	}
	var connections int
	err = other.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
		AND backend_type = 'client backend'`).Scan(&connections)
	if err != nil || connections > expected {
		t.Errorf("%d connections, want up to %d: %v", connections, expected, err)
	}
}
