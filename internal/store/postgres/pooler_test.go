// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/postgres"
)

// TestSuitePooled runs the suite through a PgBouncer that hands each transaction to any session, of which there are
// fewer than connections of two replicas.
func TestSuitePooled(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	bouncer := testenv.NewBouncer(t, server.Database(t), "transaction", 6)
	enginetest.Run(t, enginetest.Target{
		Shared: true,
		New: func(t testing.TB) enginetest.Open {
			url := bouncer.URL(t, server.Database(t))
			return func(t testing.TB, cluster string) enginetest.Engine { return openPooled(t, url, cluster) }
		},
	})
}

func openPooled(t testing.TB, url, cluster string) *postgres.Engine {
	t.Helper()
	e := open(t, url, cluster)
	if !e.Polls() {
		t.Fatal("the pooler was not noticed")
	}
	return e
}

// TestKillPooled kills processes that write through PgBouncer.
func TestKillPooled(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	url = testenv.NewBouncer(t, url, "transaction", 6).URL(t, url)
	enginetest.RunKill(t, url, func(t testing.TB, cluster string) enginetest.Engine { return openPooled(t, url, cluster) })
}

// TestPoolerOfSessions: through a pooler that keeps sessions apart, replicas listen as they do without one.
func TestPoolerOfSessions(t *testing.T) {
	t.Parallel()
	direct := testenv.Postgres(t).Database(t)
	url := testenv.NewBouncer(t, direct, "session", 20).URL(t, direct)
	a, b := open(t, url, "main"), open(t, direct, "main")
	<-a.Wake()
	<-b.Wake()
	if a.Polls() || b.Polls() {
		t.Error("a replica polls")
	}
	var listening int
	err := connect(t, direct).QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'docket listen'`).Scan(&listening)
	if err != nil || listening != 2 {
		t.Errorf("%d replicas listen: %v", listening, err)
	}
	commit(t, b, []engine.Op{create("a")})
	<-a.Wake()
}

// TestPoolerWithoutSessions: a pooler with too few sessions is not taken for a server that is away.
func TestPoolerWithoutSessions(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			url := testenv.Postgres(t).Database(t)
			url = testenv.NewBouncer(t, url, mode, 1).URL(t, url)
			waitsFor(t, "default_pool_size", postgres.Options{URL: url})
		})
	}
}

// TestPoolerOfSerializable: transactions that are not as commits need them are refused at the start.
func TestPoolerOfSerializable(t *testing.T) {
	t.Parallel()
	direct := testenv.Postgres(t).Database(t)
	execute(t, direct, "ALTER DATABASE "+databaseName(t, direct)+" SET default_transaction_isolation = 'repeatable read'")
	open(t, direct, "main") // Sets it for its sessions.
	url := testenv.NewBouncer(t, direct, "transaction", 6).URL(t, direct)
	wantWords(t, refused(t, postgres.Options{URL: url}), "default_transaction_isolation")
}

// TestPooledReplicas: replicas hear of each other's commits, whether a pooler is between or not.
func TestPooledReplicas(t *testing.T) {
	t.Parallel()
	direct := testenv.Postgres(t).Database(t)
	url := testenv.NewBouncer(t, direct, "transaction", 6).URL(t, direct)
	replicas := []*postgres.Engine{openPooled(t, url, "main"), openPooled(t, url, "main"), open(t, direct, "main")}
	for _, e := range replicas {
		<-e.Wake()
	}
	for i, e := range replicas {
		key := fmt.Sprint(i)
		commit(t, e, []engine.Op{create(key)})
		for j, other := range replicas {
			if other == e {
				continue
			}
			for event := (engine.Event{}); event.Key != key; {
				testkit.Receive(t, fmt.Sprintf("replica %d is woken by %d", j, i), other.Wake())
				events, _ := testkit.Must2(other.Events(t.Context(), engine.Revision(i+1), 10))(t)
				if len(events) > 0 {
					event = events[0]
				}
			}
		}
	}
}

// TestPooledHousekeeping: no lock stays behind in a session of the pooler, where it would keep all others from the
// work forever, and no setting that breaks those of somebody else.
func TestPooledHousekeeping(t *testing.T) {
	t.Parallel()
	direct := testenv.Postgres(t).Database(t)
	url := testenv.NewBouncer(t, direct, "transaction", 6).URL(t, direct)
	replicas := []*postgres.Engine{openPooled(t, url, "main"), openPooled(t, url, "main")}
	for round := range 5 {
		var working sync.WaitGroup
		for i, e := range replicas {
			op := create(fmt.Sprintf("%d/%d", round, i))
			created := commit(t, e, []engine.Op{op}).Outcomes[0].Revision
			state := commit(t, e, []engine.Op{{Kind: engine.Delete, Resource: reports, Key: op.Key, Expect: created}}).State
			for _, other := range replicas {
				working.Go(func() {
					if err := other.Compact(t.Context(), state.Revision); err != nil {
						t.Errorf("compact: %v", err)
					}
					if err := other.Tidy(t.Context()); err != nil {
						t.Errorf("tidy: %v", err)
					}
				})
			}
		}
		working.Wait()
	}
	// What a replica left because the other one was at it goes the next time.
	created := commit(t, replicas[0], []engine.Op{create("last")}).Outcomes[0].Revision
	last := commit(t, replicas[0], []engine.Op{{Kind: engine.Delete, Resource: reports, Key: "last", Expect: created}}).State
	if err := replicas[0].Compact(t.Context(), last.Revision); err != nil {
		t.Error(err)
	}
	for _, e := range replicas {
		if err := e.Tidy(t.Context()); err != nil {
			t.Error(err)
		}
	}
	execute(t, direct, `SELECT 1 / ((SELECT count(*) FROM docket.event) + (SELECT count(*) FROM docket.verdict) = 0)::int`)
	execute(t, direct, `SELECT 1 / (count(*) = 0)::int FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	stranger := connect(t, url+"&default_query_exec_mode=simple_protocol")
	for range 20 {
		var settings string
		err := stranger.QueryRow(t.Context(), `SELECT current_setting('default_transaction_read_only')
			|| current_setting('enable_seqscan') || current_setting('statement_timeout')`).Scan(&settings)
		if err != nil || settings != "offon0" {
			t.Errorf("a stranger's session has %s: %v", settings, err)
		}
	}
}

// TestPooledRestore puts an older copy of the database in its place while replicas run, whose connections to PgBouncer
// stay. A replica that saw nothing of what is lost gives no revision out again.
func TestPooledRestore(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	direct, copied, third := server.Database(t), server.Database(t), server.Database(t)
	admin := connect(t, third)
	bouncer := testenv.NewBouncer(t, direct, "transaction", 6)
	url := bouncer.URL(t, direct)
	first := openPooled(t, url, "main")
	before := commit(t, first, []engine.Op{create("a")}).State
	dump := filepath.Join(t.TempDir(), "dump")
	run(t, third, "pg_dump", "--format=custom", "--file="+dump, direct)
	run(t, third, "pg_restore", "--exit-on-error", "--dbname="+copied, dump)
	other := openPooled(t, url, "main")
	bouncer.While(t, func() {
		name, newName := databaseName(t, direct), databaseName(t, copied)
		_, err := admin.Exec(t.Context(), fmt.Sprintf(`BEGIN; ALTER DATABASE %[1]s RENAME TO gone_%[1]s;
			ALTER DATABASE %[2]s RENAME TO %[1]s; ALTER DATABASE gone_%[1]s RENAME TO %[2]s; COMMIT`, name, newName))
		if err != nil {
			t.Error(err)
		}
	})
	if err := other.Tidy(t.Context()); err != nil && !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("housekeeping after the restore: %v", err)
	}
	var batch engine.Batch
	for err := engine.ErrUnavailable; errors.Is(err, engine.ErrUnavailable); { // As long as a log-in failed a moment ago.
		if batch, err = other.Commit(t.Context(), []engine.Op{create("b")}); err != nil && !errors.Is(err, engine.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if batch.State.Incarnation <= before.Incarnation || batch.Outcomes[0].Revision < before.Revision+1_000_000 {
		t.Errorf("the state was %+v, a commit after the restore gives %+v", before, batch)
	}
	if state := present(t, first); state != batch.State {
		t.Errorf("the other replica is at %+v", state)
	}
}

func databaseName(t *testing.T, url string) string {
	t.Helper()
	config := testkit.Must(pgx.ParseConfig(url))(t)
	return config.Database
}

// TestKilledPooler kills PgBouncer under load and starts it again; no acknowledged commit and no event is lost.
func TestKilledPooler(t *testing.T) {
	t.Parallel()
	direct := testenv.Postgres(t).Database(t)
	bouncer := testenv.NewBouncer(t, direct, "transaction", 6)
	url := bouncer.URL(t, direct)
	killUnderLoad(t, []*postgres.Engine{openPooled(t, url, "main"), openPooled(t, url, "main")}, func() {
		bouncer.Kill(t)
		bouncer.Start(t)
	})
}

// TestKilledServerPooled kills the server behind PgBouncer, which then says so in its own words.
func TestKilledServerPooled(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			server := testenv.NewPostgres(t)
			direct := server.Database(t)
			url := testenv.NewBouncer(t, direct, mode, 20).URL(t, direct)
			killUnderLoad(t, []*postgres.Engine{open(t, url, "main"), open(t, url, "main")}, func() {
				server.Kill(t)
				server.Start(t)
			})
		})
	}
}

// killUnderLoad kills something again and again, each time after some more commits.
func killUnderLoad(t *testing.T, engines []*postgres.Engine, kill func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		defer cancel()
		awaitCommits(ctx, t, engines[0])
		for range 4 {
			kill()
			awaitCommits(ctx, t, engines[0])
		}
	})
	known := load(ctx, t, engines, "load", 1<<30)
	group.Wait()
	t.Logf("%d acknowledged, %d unknown", len(known.revisions), len(known.unknown))
	known.check(t, engines[1])
}

// awaitCommits returns after some commits of anybody.
func awaitCommits(ctx context.Context, t *testing.T, e *postgres.Engine) {
	t.Helper()
	var target engine.Revision
	for {
		state, err := e.State(ctx)
		switch {
		case ctx.Err() != nil:
			t.Errorf("no commits any more: %v", err)
			return
		case err == nil && target == 0:
			target = state.Revision + 40
		case err == nil && state.Revision >= target:
			return
		}
	}
}
