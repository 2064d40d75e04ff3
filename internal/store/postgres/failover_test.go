// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
)

// leapt checks that the state of e is far ahead of before and of a new
// incarnation, and that everything up to it is compacted.
func leapt(t *testing.T, e engine.Engine, before engine.State) engine.State {
	t.Helper()
	state := present(t, e)
	if state.Revision < before.Revision+1_000_000 || state.Compacted != state.Revision || state.Incarnation <= before.Incarnation {
		t.Fatalf("state was %+v and is %+v", before, state)
	}
	return state
}

func present(t *testing.T, e engine.Engine) engine.State {
	t.Helper()
	return testkit.Must(e.State(t.Context()))(t)
}

// goesOn checks that a cluster works after a leap.
func goesOn(t *testing.T, e engine.Engine, state engine.State, key string) {
	t.Helper()
	batch := commit(t, e, []engine.Op{create(key)})
	if want := state.Revision + 1; batch.Outcomes[0].Revision != want || batch.State.Incarnation != state.Incarnation {
		t.Errorf("commit after the leap: %+v, want revision %d", batch, want)
	}
	events, _, err := e.Events(t.Context(), state.Revision, 10)
	if err != nil || len(events) != 1 {
		t.Errorf("events after the leap: %+v, %v", events, err)
	}
	if _, _, err := e.Events(t.Context(), state.Revision-1, 10); !errors.Is(err, engine.ErrCompacted) {
		t.Errorf("events from before the leap: %v", err)
	}
	if _, err := e.Horizon(t.Context(), 0, 1); err != nil {
		t.Errorf("horizon: %v", err)
	}
	if err := e.Compact(t.Context(), batch.State.Revision); err != nil {
		t.Errorf("compact: %v", err)
	}
}

// rollBack makes a database look as it was at an earlier revision.
const rollBack = `WITH gone AS (DELETE FROM docket.event WHERE revision > 3 RETURNING created),
	objects AS (DELETE FROM docket.object WHERE created IN (SELECT created FROM gone)),
	terms AS (DELETE FROM docket.term WHERE created IN (SELECT created FROM gone)),
	reports AS (DELETE FROM docket.report WHERE object IN (SELECT created FROM gone)),
	results AS (DELETE FROM docket.result WHERE object IN (SELECT created FROM gone))
UPDATE docket.revision SET revision = 3`

// TestRevisionWentBack checks what replicas do whose database goes back in time
// while their sessions stay: each way to notice, and the leap is made once.
func TestRevisionWentBack(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(t *testing.T, e engine.Engine) error{
		"read": func(t *testing.T, e engine.Engine) error { _, _, err := e.Get(t.Context(), reports, "a"); return err },
		"commit": func(t *testing.T, e engine.Engine) error {
			_, err := e.Commit(t.Context(), []engine.Op{create("new")})
			return err
		},
		"commit without effect": func(t *testing.T, e engine.Engine) error {
			_, err := e.Commit(t.Context(), []engine.Op{create("0")})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := testenv.Postgres(t).Database(t)
			a, b := open(t, url, "main"), open(t, url, "main")
			var before engine.State
			for i := range 8 {
				before = commit(t, a, []engine.Op{create(fmt.Sprint(i))}).State
			}
			if present(t, b) != before {
				t.Fatal("the replicas differ")
			}
			execute(t, url, rollBack)
			testkit.NoError(t, notice(t, a))
			if name == "commit" { // Its change is the first after the leap.
				testkit.NoError(t, b.Compact(t.Context(), present(t, b).Revision))
			}
			state := leapt(t, b, before)
			goesOn(t, b, state, "after")
			goesOn(t, a, engine.State{Revision: state.Revision + 1, Incarnation: state.Incarnation}, "after too")
		})
	}
}

// TestOtherServer checks that a cluster leaps when its counter row was written to
// on another server, timeline or table, and keeps still when it can't know.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		leaps  bool
	}{
		"same":          {`UPDATE docket.revision SET timeline = timeline`, false},
		"other system":  {`UPDATE docket.revision SET system_identifier = system_identifier + 1`, true},
		"other time":    {`UPDATE docket.revision SET timeline = timeline + 1`, true},
		"other table":   {`UPDATE docket.revision SET relation = relation + 1`, true},
		"nothing known": {`UPDATE docket.revision SET system_identifier = 0, timeline = 0, relation = 0`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := testenv.Postgres(t).Database(t)
			first := open(t, url, "main")
			before := commit(t, first, []engine.Op{create("a")}).State
			testkit.NoError(t, first.Close())
			execute(t, url, c.change)
			second := open(t, url, "main")
			if !c.leaps {
				if state := present(t, second); state != before {
					t.Errorf("state was %+v and is %+v", before, state)
				}
				return
			}
			state := leapt(t, second, before)
			testkit.NoError(t, second.Close())
			third := open(t, url, "main")
			goesOn(t, third, state, "b") // Once is enough.
		})
	}
}

// TestRestoredDump restores a dump into another database of the server, twice, and
// checks that no revision is given out again.
func TestRestoredDump(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	url := server.Database(t)
	original := open(t, url, "main")
	before := commit(t, original, []engine.Op{create("a"), create("b")}).State
	dump := filepath.Join(t.TempDir(), "dump")
	run(t, url, "pg_dump", "--format=custom", "--file="+dump, url)
	commit(t, original, []engine.Op{create("lost")})

	for range 2 {
		restored := server.Database(t)
		run(t, url, "pg_restore", "--exit-on-error", "--dbname="+restored, dump)
		e := open(t, restored, "main")
		state := leapt(t, e, before)
		page, err := e.List(t.Context(), engine.Query{Resource: reports, Conditions: []engine.Condition{{Name: 1}}})
		if err != nil || len(page.Rows) != 2 {
			t.Fatalf("list after the restore: %+v, %v", page, err)
		}
		goesOn(t, e, state, "c")
		// The next restore must go beyond what this one gave out, from what is in
		// the dump alone: less the million that both add.
		before = present(t, e)
		before.Revision -= 1_000_000
	}
}

// run runs one of the programs that come with the server.
func run(t *testing.T, url, program string, args ...string) {
	t.Helper()
	var folder string
	testkit.NoError(t, connect(t, url).QueryRow(t.Context(), `SELECT setting FROM pg_config WHERE name = 'BINDIR'`).Scan(&folder))
	command := exec.CommandContext(t.Context(), filepath.Join(folder, program), args...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, output)
	}
}

// TestReadOnlyDatabase checks that a database that can't be written to says so, and that
// the engine works again when it can.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e := open(t, url, "main")
	commit(t, e, []engine.Op{create("a")})
	name := connect(t, url).Config().Database
	execute(t, url, `ALTER DATABASE `+name+` SET default_transaction_read_only = on`)
	execute(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if _, err := e.Commit(t.Context(), []engine.Op{create("b")}); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("commit: got %v, want %v", err, engine.ErrReadOnly)
	}
	if _, _, err := e.Get(t.Context(), reports, "a"); err != nil {
		t.Errorf("get: %v", err)
	}
	if _, err := postgres.Open(t.Context(), postgres.Options{URL: url, Cluster: "new"}); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("open: got %v, want %v", err, engine.ErrReadOnly)
	}
	writable := connect(t, url)
	testkit.Must(writable.Exec(t.Context(), `SET default_transaction_read_only = off`))(t)
	testkit.Must(writable.Exec(t.Context(), `ALTER DATABASE `+name+` RESET default_transaction_read_only`))(t)
	execute(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	commit(t, e, []engine.Op{create("b")})
}

// TestClockThatWasAhead: after a commit in the far future, later ones are of the present again, so that
// history grows old.
func TestClockThatWasAhead(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e := open(t, url, "main")
	commit(t, e, []engine.Op{create("a")})
	execute(t, url, `UPDATE docket.revision SET committed_at = committed_at + interval '10 years'`)
	now := time.Now()
	for _, key := range []string{"b", "c"} {
		if batch := commit(t, e, []engine.Op{create(key)}); batch.Time.Sub(now) > 2*time.Minute {
			t.Errorf("%s was committed at %v", key, batch.Time)
		}
	}
	state := testkit.Must(e.Advance(t.Context(), 100))(t)
	commit(t, e, []engine.Op{create("d")})
	if horizon, err := e.Horizon(t.Context(), -5*time.Minute, 0); err != nil || horizon <= state.Revision {
		t.Errorf("the horizon is %d after revision %d, %v", horizon, state.Revision, err)
	}
}
