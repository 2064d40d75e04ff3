// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"errors"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

var advanceCases = []testCase{
	{"FarAhead", testAdvance},
	{"NeverBack", testAdvanceBack},
	{"SurvivesReopen", testAdvanceReopen},
	{"OtherProcesses", testAdvanceShared},
}

// advance moves the revisions of an engine, which must be able to.
func (s session) advance(to engine.Revision) engine.State {
	s.Helper()
	advancer, ok := s.engine.(engine.Advancer)
	if !ok {
		s.Fatalf("a %T can't advance", s.engine)
	}
	state, err := advancer.Advance(s.Context(), to)
	if err != nil {
		s.Fatalf("advance to %d: %v", to, err)
	}
	return state
}

// testAdvance: objects stay, history is gone, and the next change takes the next revision.
func testAdvance(t *testing.T, target Target) {
	s := target.session(t)
	first := s.apply(create("a", "x"))
	before := s.state()
	const to = 1_000_000_000
	after := s.advance(to)
	if after.Revision != to || after.Compacted != to || after.Incarnation <= before.Incarnation {
		t.Errorf("%+v became %+v", before, after)
	}
	if got := s.state(); got != after {
		t.Errorf("the state is %+v, Advance said %+v", got, after)
	}
	if row := s.get(reports, "a"); row == nil || row.Revision != first.Revision {
		t.Errorf("the object became %+v", row)
	}
	if _, _, err := s.engine.Events(t.Context(), first.Revision, 10); !errors.Is(err, engine.ErrCompacted) {
		t.Errorf("events before: %v", err)
	}
	if _, err := s.engine.List(t.Context(), engine.Query{Resource: reports, At: first.Revision}); !errors.Is(err, engine.ErrCompacted) {
		t.Errorf("list before: %v", err)
	}
	if outcome := s.apply(create("b", "y")); outcome.Revision != to+1 {
		t.Errorf("the next change took %d", outcome.Revision)
	}
	events, _, err := s.engine.Events(t.Context(), to, 10)
	if err != nil || len(events) != 1 || events[0].Revision != to+1 {
		t.Errorf("events after: %v, %v", events, err)
	}
	if err := s.engine.Tidy(t.Context()); err != nil {
		t.Error(err)
	}
}

func testAdvanceBack(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(create("a", "x"))
	before := s.state()
	if after := s.advance(1); after.Revision != before.Revision+1 || after.Compacted != after.Revision {
		t.Errorf("%+v became %+v", before, after)
	}
}

func testAdvanceReopen(t *testing.T, target Target) {
	open := target.New(t)
	s := session{t, open(t, cluster)}
	s.apply(create("a", "x"))
	after := s.advance(5_000_000)
	if err := s.engine.Close(); err != nil {
		t.Fatal(err)
	}
	again := session{t, open(t, cluster)}
	if got := again.state(); got != after {
		t.Errorf("%+v became %+v", after, got)
	}
}

// testAdvanceShared: another process writes on with the next revision.
func testAdvanceShared(t *testing.T, target Target) {
	if !target.Shared {
		return
	}
	open := target.New(t)
	s, other := session{t, open(t, cluster)}, session{t, open(t, cluster)}
	other.apply(create("a", "x"))
	s.advance(7_000_000)
	if outcome := other.apply(create("b", "y")); outcome.Revision != 7_000_001 {
		t.Errorf("the next change of the other process took %d", outcome.Revision)
	}
}
