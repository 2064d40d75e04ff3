// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// Engine is what engines implement: both contracts.
type Engine interface {
	engine.Engine
	engine.Questions
}

// Target is an engine under test.
type Target struct {
	// New makes an empty database, which is removed when t ends, and returns how to open engines on it.
	New func(t testing.TB) Open
	// Shared says that several engines may be open on one database at a time.
	// Where it is false the suite closes an engine before it opens the next one.
	Shared bool
}

// Open opens an engine for the named cluster of a database and fails t where that is impossible. The engine is closed
// when t ends; the suite may close it before, so Close must be harmless when it is repeated.
type Open func(t testing.TB, cluster string) Engine

// cluster that tests use which need only one.
const cluster = "main"

// Run checks that the target keeps the promises of package engine.
func Run(t *testing.T, target Target) {
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"Commit", commitCases},         // Guarantees S1, S5, S6.
		{"Read", readCases},             // Guarantee S7.
		{"Selectors", selectorCases},    // Guarantee S7.
		{"Events", eventCases},          // Guarantee S3.
		{"History", historyCases},       // Guarantees S3, S4.
		{"Derived", derivedCases},       // Guarantee S10.
		{"Derivation", derivationCases}, // Guarantee S10.
		{"Advance", advanceCases},       // Guarantees S3, S8.
		{"Large", largeCases},
		{"Questions", questionCases},    // Guarantee S10.
		{"QuestionGroups", groupCases},  // Guarantee S10.
		{"Orders", orderCases},          // Guarantee S10.
		{"Concurrent", concurrentCases}, // Guarantees S1, S3, S4.
		{"Reopen", reopenCases},         // Guarantee S2.
		{"Random", randomCases},         // All of them.
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, target)
				})
			}
		})
	}
}

type testCase struct {
	name string
	run  func(t *testing.T, target Target)
}

// open makes a fresh database and opens its main cluster.
func (target Target) open(t testing.TB) Engine {
	t.Helper()
	return target.New(t)(t, cluster)
}
