// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/postgres"
)

// differencesSQL counts the rows in which the counters differ from a count of all results.
const differencesSQL = `
WITH counted AS (
	SELECT cluster, namespace, report_kind, source, policy, rule, category, severity, result, scored, count(*) AS results
	FROM docket.policy_results GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
), kept AS (SELECT * FROM docket.policy_namespace_counts)
SELECT count(*) FROM ((SELECT * FROM counted EXCEPT ALL SELECT * FROM kept) UNION ALL (SELECT * FROM kept EXCEPT ALL SELECT * FROM counted)) AS d`

// wantTally checks the counters, and whether they are kept.
func wantTally(t *testing.T, conn *pgx.Conn, what string, kept bool) {
	t.Helper()
	var differences, state int
	err := conn.QueryRow(t.Context(), `SELECT (`+differencesSQL+`), (SELECT max(tallied) FROM docket.revision)`).Scan(&differences, &state)
	if err != nil || differences != 0 || (state == 2) != kept {
		t.Errorf("%s: %d counters differ, state %d, %v; want none, and kept=%t", what, differences, state, err, kept)
	}
}

// TestTallyWrittenByHand: results that a person writes void the counters, which are rebuilt.
func TestTallyWrittenByHand(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e, conn := open(t, url, "main"), connect(t, url)
	tally := func() {
		t.Helper()
		if err := e.Tally(t.Context()); err != nil {
			t.Error(err)
		}
	}
	commit(t, e, benchOps(20))
	wantTally(t, conn, "changes", true)
	tally()
	wantTally(t, conn, "moved", true)
	commit(t, e, benchOps(20))
	for i, statement := range []string{
		`UPDATE docket.report SET verdicts = verdicts[1:5] WHERE object % 3 = 0`,
		`DELETE FROM docket.report WHERE object = (SELECT max(object) FROM docket.report)`,
		`INSERT INTO docket.report SELECT (jsonb_populate_record(r, '{"object": 999999}')).* FROM docket.report AS r LIMIT 1`,
		`DELETE FROM docket.verdict WHERE id = (SELECT max(id) FROM docket.verdict)`,
	} {
		testkit.Must(conn.Exec(t.Context(), statement))(t)
		wantTally(t, conn, statement, false)
		commit(t, e, benchOps(3))
		tally()
		wantTally(t, conn, fmt.Sprint("made anew ", i), true)
	}
}

// TestTallyBesideCommits: the counters are right in every snapshot while they are made and moved, and while programs
// that keep them write beside a person.
func TestTallyBesideCommits(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e, conn := open(t, url, "main"), connect(t, url)
	other := open(t, url, "main")
	commit(t, e, benchOps(50))
	const byHand = `WITH picked AS (SELECT object FROM docket.report ORDER BY random() LIMIT 3)
		UPDATE docket.report SET verdicts = verdicts[2:] WHERE object IN (SELECT object FROM picked) AND cardinality(verdicts) > 2`
	var writers sync.WaitGroup
	done := make(chan struct{})
	for _, writer := range []func(i int){
		func(int) { commit(t, e, benchOps(2)) },
		func(int) { commit(t, other, benchOps(1)) },
		func(i int) {
			if i%4 == 0 {
				execute(t, url, byHand)
			}
		},
	} {
		writers.Go(func() {
			for i := range 25 {
				writer(i)
			}
		})
	}
	go func() { writers.Wait(); close(done) }()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		var differences int
		if err := e.Tally(t.Context()); err != nil {
			t.Error(err)
		}
		if err := conn.QueryRow(t.Context(), differencesSQL).Scan(&differences); err != nil || differences != 0 {
			t.Fatalf("%d counters differ, %v", differences, err)
		}
	}
	for range 2 { // Once to end what a void cut short.
		if err := e.Tally(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wantTally(t, conn, "at the end", true)
}

// TestTallyMadeMeanwhile: the counters are made from all reports of one moment and what was committed since, neither
// counted twice nor forgotten, and are void if somebody voided them meanwhile.
func TestTallyMadeMeanwhile(t *testing.T) {
	t.Parallel()
	newReports := func(t *testing.T, e *postgres.Engine, _ string) { commit(t, e, benchOps(5)) }
	for name, test := range map[string]struct {
		hold      func(t *testing.T, url string) *pgx.Conn
		meanwhile func(t *testing.T, e *postgres.Engine, url string)
		kept      bool
	}{
		"commits before the moment": {holdTally, newReports, true},
		"commits after it":          {holdCount, newReports, true},
		"a person after it": {holdCount, func(t *testing.T, _ *postgres.Engine, url string) {
			execute(t, url, "UPDATE docket.report SET verdicts = verdicts[1:5]")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := testenv.Postgres(t).Database(t)
			e, conn := open(t, url, "main"), connect(t, url)
			commit(t, e, benchOps(20))
			testkit.NoError(t, e.Tally(t.Context()))
			execute(t, url, "UPDATE docket.revision SET tallied = 0")
			holder := test.hold(t, url)
			made := make(chan error, 1)
			go func() { made <- e.Tally(t.Context()) }()
			awaitLock(t, conn)
			test.meanwhile(t, e, url)
			testkit.NoError(t, errors.Join(holder.Close(t.Context()), <-made))
			wantTally(t, conn, "made", test.kept)
			testkit.NoError(t, e.Tally(t.Context()))
			wantTally(t, conn, "once more", true)
		})
	}
}

// holdTally has who makes the counters wait before it looks at reports, until the connection is closed.
func holdTally(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	return holding(t, url, "LOCK TABLE docket.tally IN ACCESS EXCLUSIVE MODE")
}

// holdCount has who makes the counters wait when it has looked at all reports: with a counter that it is going to add.
func holdCount(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	var outcome int64
	var namespace, kind string
	testkit.NoError(t, connect(t, url).QueryRow(t.Context(), `WITH all_of_them AS (DELETE FROM docket.tally RETURNING outcome, namespace, kind)
		SELECT outcome, namespace, kind FROM all_of_them LIMIT 1`).Scan(&outcome, &namespace, &kind))
	return holding(t, url, "INSERT INTO docket.tally (cluster, outcome, namespace, kind, results) VALUES (1, $1, $2, $3, 1)", outcome, namespace, kind)
}

// holding returns a connection whose transaction has executed a statement.
func holding(t *testing.T, url, statement string, arguments ...any) *pgx.Conn {
	t.Helper()
	conn := connect(t, url)
	_, err := conn.Exec(t.Context(), "BEGIN")
	if err == nil {
		_, err = conn.Exec(t.Context(), statement, arguments...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// awaitLock returns when somebody waits for a lock in the database.
func awaitLock(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	testkit.NoError(t, wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (waiting bool, err error) {
		err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waiting)
		return waiting, err
	}))
}

// TestTallyIdentity: SQL makes the same ids as Go, and what is zero or not referred to goes.
func TestTallyIdentity(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e, conn := open(t, url, "main"), connect(t, url)
	op := enginetest.Report(1)
	created := commit(t, e, []engine.Op{op}).Outcomes[0]
	testkit.NoError(t, e.Tally(t.Context()))
	var found, left int
	verdict := op.Projection.Results[0].Verdict
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM docket.outcome WHERE id = $1`, verdict.Outcome()).Scan(&found); err != nil || found != 1 {
		t.Errorf("%d outcomes have the id that Go makes, %v", found, err)
	}
	op.Kind, op.Expect = engine.Delete, created.Revision
	commit(t, e, []engine.Op{op})
	testkit.NoError(t, e.Tally(t.Context()))
	testkit.NoError(t, e.Tidy(t.Context()))
	err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM docket.outcome) + (SELECT count(*) FROM docket.tally)
		+ (SELECT count(*) FROM docket.tally_change)`).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d rows of counters are left, %v", left, err)
	}
}
