// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

var derivationCases = []testCase{
	{"TermsOfAnOlderVersionAreNotReliedOn", testOlderTerms},
	{"KeptRowsCountAsTheWriters", testKeptDerivation},
	{"AnOlderVersionDerivesNothing", testOlderDerive},
	{"WhatIsMissingIsFound", testUnderived},
	{"AnOlderWriteDuringAWalkIsNoticed", testInterruptedWalk},
	{"ReadersOfTwoVersionsBeforeDontRely", testTwoVersions},
}

// term is the one that newer versions derive and older ones don't.
var term = engine.Term{Name: 7, Value: 7}

// by returns an op as a program of a version writes it, with the index term unless it is older than 2.
func by(version engine.Derivation, op engine.Op) engine.Op {
	op.Derivation = version
	if version >= 2 {
		op.Index = []engine.Term{term}
	}
	return op
}

// without returns an op of an object that has no such term.
func without(op engine.Op) engine.Op {
	op.Index = nil
	return op
}

// selected returns the keys that a list of a version gets.
func (s session) selected(version engine.Derivation) []string {
	s.Helper()
	return keysOf(s.list(engine.Query{
		Resource: reports, Derivation: version, Conditions: []engine.Condition{{Name: term.Name, Values: []int64{term.Value}}},
	}).Rows)
}

// derive makes the rows of all objects complete at a version, and returns which it had to derive.
func (s session) derive(version engine.Derivation) []string {
	s.Helper()
	mark, err := s.engine.BeginDerivation(s.Context(), reports, version)
	if err != nil {
		s.Fatalf("begin: %v", err)
	}
	done := s.walk(version, 2)
	finished, err := s.engine.FinishDerivation(s.Context(), reports, version, mark)
	if err != nil || !finished {
		s.Fatalf("finish: %t, %v", finished, err)
	}
	return done
}

func (s session) walk(version engine.Derivation, limit int) (done []string) {
	s.Helper()
	for after := ""; ; {
		found, err := s.engine.Underived(s.Context(), reports, after, version, limit)
		if err != nil {
			s.Fatalf("underived after %q: %v", after, err)
		}
		var items []engine.Derived
		for _, row := range found.Rows {
			items = append(items, engine.Derived{
				Resource: reports, Key: row.Key, Revision: row.Revision, Index: []engine.Term{term}, Derivation: version,
			})
		}
		if err := s.engine.Derive(s.Context(), items); err != nil {
			s.Fatalf("derive: %v", err)
		}
		done = append(done, keysOf(found.Rows)...)
		if after = found.Last; after == "" {
			return done
		}
	}
}

func (s session) wantDerivation(want engine.DerivationState) {
	s.Helper()
	got, err := s.engine.Derivation(s.Context(), reports)
	if err != nil {
		s.Fatalf("derivation: %v", err)
	}
	s.same("derivation", got, want)
}

func testOlderTerms(t *testing.T, target Target) {
	s := target.session(t)
	s.wantDerivation(engine.NothingToDerive)
	s.apply(by(2, create("a", "")))
	s.wantDerivation(engine.DerivationState{Complete: 2, Highest: 2})
	s.same("all by the newer version", s.selected(2), []string{"a"})
	s.apply(by(1, create("c", "")))
	s.same("one by the older version", s.selected(2), []string{"a", "c"})
	s.wantDerivation(engine.DerivationState{Complete: 1, Highest: 2})
	s.same("derived anew", s.derive(2), []string{"c"})
	s.wantDerivation(engine.DerivationState{Complete: 2, Highest: 2})
	s.same("index", s.selected(2), []string{"a", "c"})
	// The index serves again: what has no such term is left out.
	s.apply(without(by(2, create("d", ""))))
	s.same("index", s.selected(2), []string{"a", "c"})
}

func testKeptDerivation(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(by(2, create("a", "")))
	op := update("a", 2, "kept by the same version")
	op.KeepDerived = true
	s.apply(by(2, op))
	s.wantDerivation(engine.DerivationState{Complete: 2, Highest: 2})
	op = update("a", 3, "by the older program, which sees no difference")
	op.KeepDerived = true
	s.apply(by(1, op))
	s.wantDerivation(engine.DerivationState{Complete: 1, Highest: 2})
	op = update("a", 4, "kept by the newer one")
	op.KeepDerived = true
	s.apply(by(2, op))
	s.wantDerivation(engine.DerivationState{Complete: 1, Highest: 2})
	s.same("derived anew", s.derive(2), []string{"a"})
}

func testOlderDerive(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(by(2, create("a", "")))
	err := s.engine.Derive(t.Context(), []engine.Derived{{Resource: reports, Key: "a", Revision: 2, Derivation: 1}})
	if err != nil {
		t.Fatalf("derive: %v", err)
	}
	s.same("index", s.selected(2), []string{"a"})
	s.same("derived anew", s.derive(3), []string{"a"})
}

func testUnderived(t *testing.T, target Target) {
	s := target.session(t)
	var want []string
	for i := range engine.Revision(9) {
		key := fmt.Sprint("k", i)
		s.apply(by(engine.Derivation(1+i%2), create(key, "value of "+key)))
		if i%2 == 0 {
			want = append(want, key)
		}
	}
	found, err := s.engine.Underived(t.Context(), reports, "", 2, 100)
	if err != nil {
		t.Fatal(err)
	}
	s.same("keys", keysOf(found.Rows), want)
	s.same("row", found.Rows[1].Value, value("value of k2"))
	s.same("end", found.Last, "")
	s.same("derived anew", s.derive(2), want)
	s.same("derived anew", s.walk(2, 3), []string(nil))
}

// testInterruptedWalk: an older program writes what the walk has passed.
func testInterruptedWalk(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(by(1, create("a", "")))
	s.apply(by(1, create("b", "")))
	mark, err := s.engine.BeginDerivation(t.Context(), reports, 2)
	if err != nil {
		t.Fatal(err)
	}
	s.walk(2, 1)
	s.apply(by(1, update("a", 2, "behind the walk")))
	finished, err := s.engine.FinishDerivation(t.Context(), reports, 2, mark)
	if err != nil || finished {
		t.Fatalf("finish after an older program's write: %t, %v", finished, err)
	}
	s.same("all", s.selected(2), []string{"a", "b"})
	s.same("derived anew", s.derive(2), []string{"a"})
}

func testTwoVersions(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(by(4, create("a", "")))
	s.apply(without(by(4, create("b", ""))))
	s.same("the version itself", s.selected(4), []string{"a"})
	s.same("the version before", s.selected(3), []string{"a"})
	s.same("two versions before", s.selected(2), []string{"a", "b"})
}
