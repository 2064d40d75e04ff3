// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

var derivedCases = []testCase{
	{"ResultsFollowTheirObject", testResults},
	{"DeriveReplaces", testDerive},
	{"DeriveLeavesOtherRevisionsAlone", testDeriveStale},
	{"OddProjections", testOddProjections},
	{"TidyKeepsWhatIsReferredTo", testTidy},
}

func (s session) wantResults(want int64) {
	s.Helper()
	s.same("results", s.usage().Results, want)
	s.same("rows of results", int64(len(s.results())), want)
	s.same("sum of counters", sum(s.counts()), want)
}

// sum adds the numbers that texts end with.
func sum(texts []string) (total int64) {
	for _, text := range texts {
		var n int64
		_, _ = fmt.Sscan(text[strings.LastIndexByte(text, ' ')+1:], &n)
		total += n
	}
	return total
}

func testResults(t *testing.T, target Target) {
	s := target.session(t)
	op := create("a", "")
	op.Projection = projection(1, 4)
	other := create("b", "")
	other.Projection = projection(2, 2)
	s.commit(op, other)
	s.wantResults(6)

	op = update("a", 2, "kept")
	op.KeepDerived, op.Projection = true, projection(1, 9)
	s.apply(op)
	s.wantResults(6)

	op = update("a", 4, "fewer, others")
	op.Projection = projection(2, 3)
	s.apply(op)
	s.wantResults(5)

	op = update("a", 4, "conflict")
	op.Projection = projection(2, 30)
	s.commit(op)
	s.wantResults(5)

	s.apply(update("a", 5, "no report any more"))
	s.wantResults(2)
	op = update("a", 6, "a report again")
	op.Projection = projection(3, 1)
	s.apply(op)
	s.wantResults(3)
	s.apply(remove("a", 7))
	s.apply(remove("b", 3))
	s.wantResults(0)
}

func testDerive(t *testing.T, target Target) {
	s := target.session(t)
	op := create("a", "")
	op.Index = []engine.Term{{Name: 1, Value: 1}}
	op.Projection = projection(1, 4)
	s.commit(op, create("b", ""))
	state := s.state()
	err := s.engine.Derive(t.Context(), []engine.Derived{
		{Resource: reports, Key: "a", Revision: 2, Index: []engine.Term{{Name: 1, Value: 2}}, Projection: projection(2, 3)},
		{Resource: reports, Key: "b", Revision: 3, Index: []engine.Term{{Name: 1, Value: 2}}, Projection: projection(3, 2)},
	})
	if err != nil {
		t.Fatalf("derive: %v", err)
	}
	s.wantResults(5)
	for value, want := range map[int64][]string{1: nil, 2: {"a", "b"}} {
		q := engine.Query{Resource: reports, Conditions: []engine.Condition{{Name: 1, Values: []int64{value}}}}
		s.same("objects", keysOf(s.list(q).Rows), want)
	}
	s.same("state", s.state(), state)
	s.same("events", len(s.eventsAfter(1)), 2)
	if err := s.engine.Derive(t.Context(), nil); err != nil {
		t.Errorf("derive of nothing: %v", err)
	}
}

func testDeriveStale(t *testing.T, target Target) {
	s := target.session(t)
	op := create("a", "")
	op.Projection = projection(1, 4)
	s.apply(op)
	err := s.engine.Derive(t.Context(), []engine.Derived{
		{Resource: reports, Key: "a", Revision: 1, Projection: projection(2, 3)},
		{Resource: reports, Key: "missing", Revision: 2, Projection: projection(2, 3)},
		{Resource: "/nobody's/", Key: "a", Revision: 2, Projection: projection(2, 3)},
	})
	if err != nil {
		t.Fatalf("derive: %v", err)
	}
	s.wantResults(4)
}

func testOddProjections(t *testing.T, target Target) {
	s := target.session(t)
	verdict := &engine.Verdict{Policy: "p"}
	subject := &engine.Subject{Kind: "Pod"}
	odd := []*engine.Projection{
		{},
		{Scope: &engine.Subject{}, Results: []engine.Result{{Verdict: &engine.Verdict{}, Subject: &engine.Subject{}}}},
		{Scope: subject, Results: []engine.Result{
			{Index: 0, Verdict: verdict, Subject: subject},
			{Index: 0, Verdict: verdict, Subject: subject},
			{Index: 1<<31 - 1, Verdict: verdict, Seconds: -62135596800},
		}},
		{Name: "it's \"odd\"\u00a0\U0001f4dc", Results: []engine.Result{{Verdict: &engine.Verdict{Message: "'; DROP TABLE object; --"}}}},
		{Pass: -1, Fail: 1 << 40, CreatedAt: -1},
	}
	revision := s.apply(create("a", "")).Revision
	for _, p := range odd {
		op := update("a", revision, "")
		op.Projection = p
		revision = s.apply(op).Revision
		s.wantResults(int64(len(p.Results)))
	}
}

func testTidy(t *testing.T, target Target) {
	s := target.session(t)
	tidy := func() {
		t.Helper()
		for range 3 {
			if err := s.engine.Tidy(t.Context()); err != nil {
				t.Fatalf("tidy: %v", err)
			}
		}
	}
	tidy()
	op := create("a", "")
	op.Projection = projection(1, 4)
	s.apply(op)
	tidy()
	s.wantResults(4)
	s.apply(remove("a", 2))
	tidy()
	// What was tidied away must come back with the next report that needs it.
	op = create("b", "")
	op.Projection = projection(1, 4)
	s.apply(op)
	tidy()
	s.wantResults(4)
}
