// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// TestFactsOfLargeReports: verdicts and subjects of a large report are there before its commit, seen by nobody, and the
// commit rewrites them if another process removed them meanwhile.
func TestFactsOfLargeReports(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	e, other := open(t, url, "main"), open(t, url, "main")
	conn := testkit.Must(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	want := func(when string, facts, seen int) {
		t.Helper()
		var got, shown int
		err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM docket.verdict) + (SELECT count(*) FROM docket.subject),
			(SELECT count(*) FROM docket.policy_results WHERE message <> '' AND subject_name <> '')`).Scan(&got, &shown)
		if err != nil || got != facts || shown != seen {
			t.Errorf("%s: %d facts and %d results, %v; want %d and %d", when, got, shown, err, facts, seen)
		}
	}
	const results = 1200
	prepared := func(n int64) engine.Op {
		op := enginetest.LargeReport(n, false)
		op.Projection.Results = op.Projection.Results[:results]
		release := testkit.Must(e.Prepare(t.Context(), &op))(t)
		t.Cleanup(release)
		return op
	}
	first := prepared(1)
	want("prepared", 2*results, 0)
	commit(t, e, []engine.Op{first})
	want("committed", 2*results+1, results) // And the report's scope.
	second := prepared(2)
	want("prepared the second", 4*results+1, results)
	for range 20 {
		testkit.NoError(t, other.Tidy(t.Context()))
	}
	want("tidied", 2*results+1, results)
	batch, err := e.Commit(t.Context(), []engine.Op{second})
	if err != nil || batch.Outcomes[0].Revision == 0 {
		t.Fatalf("%+v, %v", batch, err)
	}
	want("committed the second", 4*results+2, 2*results)
}
