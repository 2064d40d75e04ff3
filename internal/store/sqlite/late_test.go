// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// lateResults counts the results that the index of verdicts does not have.
func lateResults(t testing.TB, e *sqlite.Engine) int64 {
	t.Helper()
	return testkit.Must(e.CountRows(t.Context(), "result WHERE late = 1"))(t)
}

// sayTheSame checks the view that reads the index of verdicts against one that reads results.
func sayTheSame(t testing.TB, e *sqlite.Engine, when string) {
	t.Helper()
	const counts = "(SELECT policy, rule, result, message, %s FROM %s GROUP BY 1, 2, 3, 4)"
	both := fmt.Sprintf(counts, "sum(results)", "policy_result_counts") + " EXCEPT SELECT * FROM " + fmt.Sprintf(counts, "count(*)", "policy_results")
	if rows := testkit.Must(e.Answer(t.Context(), "SELECT * FROM "+both))(t); len(rows) > 0 {
		t.Errorf("%s: %d verdicts are counted wrong, such as %v", when, len(rows), rows[0])
	}
	one := fmt.Sprintf(counts, "count(*)", "policy_results WHERE policy = 'require-something-3'")
	all := testkit.Must(e.CountRows(t.Context(), "policy_results"))(t)
	if n := testkit.Must(e.Answer(t.Context(), "SELECT sum(\"count(*)\") FROM "+one))(t)[0][0]; n != all/17 {
		t.Errorf("%s: %v results of one policy, want %d", when, n, all/17)
	}
}

// TestLate follows results on their way into the index: whether they are in it makes no difference to answers.
func TestLate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e := open(t, sqlite.Options{Path: path, Cluster: "main"})
	want := func(when string, late int64) {
		t.Helper()
		if n := lateResults(t, e); n != late*17 {
			t.Errorf("%s: %d results are late, want %d", when, n, late*17)
		}
		sayTheSame(t, e, when)
	}
	commit(t, e, reports(0, 20))
	want("created", 20)
	testkit.NoError(t, e.EnterLate(t.Context()))
	want("entered", 0)
	commit(t, e, reports(20, 5))
	want("some entered", 5)
	// Of both kinds, one is changed and one removed.
	ops := append(reports(3, 2), reports(22, 2)...)
	for i, revision := range []engine.Revision{5, 6, 24, 25} {
		ops[i].Kind, ops[i].Expect = []engine.OpKind{engine.Update, engine.Delete}[i%2], revision
		for j := range ops[i].Projection.Results {
			verdict := *ops[i].Projection.Results[j].Verdict
			verdict.Message = "changed"
			ops[i].Projection.Results[j].Verdict = &verdict
		}
	}
	commit(t, e, ops)
	want("changed", 4)
	testkit.NoError(t, e.Close())
	e = open(t, sqlite.Options{Path: path, Cluster: "main"})
	want("opened again", 4)
	testkit.NoError(t, e.Tidy(t.Context()))
	want("tidied", 0)
	if dangling, err := e.Dangling(t.Context()); err != nil || dangling != 0 {
		t.Errorf("%d rows refer to nothing; %v", dangling, err)
	}
}

// TestLateAreBounded: many are entered while writes go on, by nobody's call.
func TestLateAreBounded(t *testing.T) {
	t.Parallel()
	e := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main", Synchronous: sqlite.Normal})
	for n := int64(0); n < 1500; n += 100 {
		commit(t, e, reports(n, 100))
	}
	testkit.Eventually(t, "few results are late", func() bool { return lateResults(t, e) < 10_000 })
	sayTheSame(t, e, "in part")
}

// TestLateDiskFull: what can't be entered stays late, and answers stay right.
func TestLateDiskFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	e := open(t, sqlite.Options{Path: path, Cluster: "main", MaxBytes: 2 << 20})
	var err error
	for n := int64(0); err == nil; n++ {
		_, err = e.Commit(t.Context(), reports(n, 1))
	}
	if !errors.Is(err, engine.ErrFull) {
		t.Fatal(err)
	}
	late := lateResults(t, e)
	if err := e.EnterLate(t.Context()); !errors.Is(err, engine.ErrFull) {
		t.Errorf("the index grew beyond the limit: %v", err)
	}
	if n := lateResults(t, e); n != late {
		t.Errorf("%d results are late after an error, %d before", n, late)
	}
	sayTheSame(t, e, "full")
	testkit.NoError(t, e.Close())
	e = open(t, sqlite.Options{Path: path, Cluster: "main"})
	testkit.NoError(t, e.EnterLate(t.Context()))
	if n := lateResults(t, e); n != 0 {
		t.Errorf("%d results are late with space again", n)
	}
	sayTheSame(t, e, "with space again")
}
