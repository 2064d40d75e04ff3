// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// enginePair is two engines that get the same ops. One treats most reports as large.
type enginePair struct {
	testing.TB
	path         string
	large, plain *sqlite.Engine
	revisions    map[string]engine.Revision
}

func newEnginePair(t testing.TB) *enginePair {
	t.Helper()
	w := &enginePair{TB: t, path: filepath.Join(t.TempDir(), "large.db"), revisions: map[string]engine.Revision{}}
	w.plain = open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "plain.db"), Cluster: "main"})
	w.open()
	return w
}

func (w *enginePair) open() {
	w.large = open(w.TB, sqlite.Options{Path: w.path, Cluster: "main"})
	w.large.SetLargeReport(3, 2, 100)
}

// op returns a change of report n, which is to have some results.
func (w *enginePair) op(n int64, results int, random *rand.Rand) engine.Op {
	op := enginetest.Report(n)
	all := op.Projection.Results
	op.Projection.Results = nil
	for i := range results {
		r := all[random.IntN(len(all))]
		r.Index = int32(i)
		if random.IntN(2) == 0 {
			r.Subject = &engine.Subject{Kind: "Pod", Name: fmt.Sprint(random.IntN(9))}
		}
		op.Projection.Results = append(op.Projection.Results, r)
	}
	if at, ok := w.revisions[op.Key]; ok {
		op.Kind, op.Expect = engine.Update, at
	}
	return op
}

// commit commits an op, with what was prepared of it, and compares the two engines.
func (w *enginePair) commit(op engine.Op) {
	w.Helper()
	var after []engine.Batch
	for _, e := range []*sqlite.Engine{w.large, w.plain} {
		batch, err := e.Commit(w.Context(), []engine.Op{op})
		if err != nil {
			w.Fatalf("%s: %v", op.Kind, err)
		}
		after = append(after, batch)
		op.Prepared = nil
	}
	if diff := cmp.Diff(after[0].Outcomes, after[1].Outcomes); diff != "" {
		w.Fatalf("outcomes differ: %s", diff)
	}
	switch at := after[0].Outcomes[0].Revision; {
	case at == 0:
	case op.Kind == engine.Delete:
		delete(w.revisions, op.Key)
	default:
		w.revisions[op.Key] = at
	}
	w.compare("after " + op.Kind.String())
}

// prepare prepares an op with the one that has large reports. Nobody may see anything of that.
func (w *enginePair) prepare(op *engine.Op) (release func()) {
	w.Helper()
	release, err := w.large.Prepare(w.Context(), op)
	if err != nil {
		w.Fatalf("prepare: %v", err)
	}
	w.compare("after it was prepared")
	return release
}

// compare compares what SQL shows.
func (w *enginePair) compare(when string) {
	w.Helper()
	for _, view := range []string{
		"SELECT * FROM policy_results ORDER BY report, result_index", "SELECT * FROM policy_report_summaries ORDER BY uid",
		"SELECT * FROM policy_result_counts ORDER BY policy, message",
		"SELECT * FROM policy_namespace_counts ORDER BY policy, rule, result, severity", "SELECT reports, results FROM clusters",
	} {
		large, err := w.large.Answer(w.Context(), view)
		if err != nil {
			w.Fatal(err)
		}
		plain, err := w.plain.Answer(w.Context(), view)
		if err != nil {
			w.Fatal(err)
		}
		if diff := cmp.Diff(plain, large); diff != "" {
			w.Fatalf("%s: %s is another one with large reports (+): %s", when, view, diff)
		}
	}
}

// count returns the number of rows of a table of the one that has large reports.
func (w *enginePair) count(table string) int64 {
	w.Helper()
	n, err := w.large.CountRows(w.Context(), table)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// TestLargeReportsAreSeenAlike: large reports take other ways than others, and show the same.
func TestLargeReportsAreSeenAlike(t *testing.T) {
	t.Parallel()
	w := newEnginePair(t)
	random := rand.New(rand.NewPCG(5, 6))
	for range 150 {
		op := w.op(int64(random.IntN(6)), random.IntN(9), random)
		switch random.IntN(8) {
		case 0:
			if op.Kind == engine.Update {
				op.Kind = engine.Delete
			}
		case 1:
			op.Expect = 1 // A conflict, unless the report is new.
		case 2: // As a rebuild does.
			for _, e := range []*sqlite.Engine{w.large, w.plain} {
				testkit.NoError(t, e.Derive(t.Context(), []engine.Derived{{
					Resource: op.Resource, Key: op.Key, Revision: op.Expect, Index: op.Index, Projection: op.Projection,
				}}))
			}
			w.compare("after Derive")
			continue
		case 3: // It was not prepared.
			w.commit(op)
			continue
		}
		release := w.prepare(&op)
		w.commit(op)
		release()
	}
	for key, at := range w.revisions {
		w.commit(engine.Op{Kind: engine.Delete, Resource: enginetest.Report(0).Resource, Key: key, Expect: at})
	}
	testkit.NoError(t, w.large.Tidy(t.Context()))
	if results, large := w.count("result"), w.count("large"); results != 0 || large != 0 {
		t.Errorf("%d rows of results and %d large reports are left, want none", results, large)
	}
}

// TestPreparedButNotCommitted: what was prepared goes away, whatever becomes of its op.
func TestPreparedButNotCommitted(t *testing.T) {
	t.Parallel()
	w := newEnginePair(t)
	random := rand.New(rand.NewPCG(7, 8))
	first, second := w.op(1, 7, random), w.op(2, 7, random)
	giveUp := w.prepare(&first)
	release := w.prepare(&second)
	if n := w.count("result"); n != 14 {
		t.Errorf("%d rows are prepared, want those of both reports", n)
	}
	giveUp()
	third := w.op(3, 7, random)
	w.large.SetLargeReport(3, 2, 1)
	w.prepare(&third)()
	if n := w.count("result"); n != 19 {
		t.Errorf("%d rows are prepared, want those of three reports without a slice of the first: it was given up", n)
	}
	w.commit(first) // Nobody waits for it any more, but it has its turn.
	w.commit(second)
	release()

	third = w.op(3, 7, random)
	_ = w.prepare(&third)
	testkit.NoError(t, w.large.Close())
	w.open()
	w.compare("after a restart")
	testkit.NoError(t, w.large.Tidy(t.Context()))
	if n := w.count("large"); n != 1 {
		t.Errorf("%d large reports after a restart, want 1", n)
	}
	if n, err := w.large.Dangling(t.Context()); err != nil || n != 0 {
		t.Errorf("%d references lead nowhere, %v", n, err)
	}
}

// TestLargeReportsChangeByDifference: a change of a few results is written by its commit.
func TestLargeReportsChangeByDifference(t *testing.T) {
	t.Parallel()
	w := newEnginePair(t)
	op := w.op(1, 9, rand.New(rand.NewPCG(9, 10)))
	release := w.prepare(&op)
	w.commit(op)
	release()
	op = w.op(1, 9, rand.New(rand.NewPCG(9, 10)))
	op.Projection.Results[4].Seconds++
	release = w.prepare(&op)
	if n := w.count("result"); n != 9 || op.Prepared != nil {
		t.Errorf("%d rows, prepared: %v; want the 9 of before and nothing", n, op.Prepared)
	}
	w.commit(op)
	release()
	if n := w.count("large"); n != 1 {
		t.Errorf("%d large reports, want 1", n)
	}
}

// TestLargeReportWithoutSpace: one that does not fit leaves the space to others.
func TestLargeReportWithoutSpace(t *testing.T) {
	t.Parallel()
	e := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main", MaxBytes: 1 << 20})
	commit(t, e, reports(0, 10))
	_, err := enginetest.Commit(t.Context(), e, []engine.Op{enginetest.LargeReport(-1, true)})
	wantError(t, err, engine.ErrFull)
	commit(t, e, reports(10, 10))
	checkAll(t, e, 20)
}
