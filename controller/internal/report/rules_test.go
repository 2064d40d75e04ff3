// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// outcomes returns what reports say, as "rule subject outcome at seconds since the start".
func outcomes(l *Layout) []string {
	var lines []string
	for object := range l.Reports() {
		for _, r := range object.GetResults() {
			lines = append(lines, fmt.Sprintf("%s %s %s at %d", r.Rule, r.Resources[0].Name, r.Result, r.Timestamp.Seconds-start.Unix()))
		}
	}
	slices.Sort(lines)
	return lines
}

func wantOutcomes(t *testing.T, what string, l *Layout, want ...string) {
	t.Helper()
	testkit.NoDiff(t, cmp.Diff(want, outcomes(l)), "%s (-want +got)", what)
}

func only(rules ...string) func(string) bool {
	return func(rule string) bool { return slices.Contains(rules, rule) }
}

// TestRulesOfOthers: results of some rules are replaced and removed without those of others.
func TestRulesOfOthers(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{true, false} {
		l, clock := newTestLayout(Options{Split: split})
		id, web := clusterPolicy("p"), pod("shop", "web")
		l.Present(id, presentation())
		l.SetRules(id, web, []policy.Result{pass("a")}, only("a"))
		l.SetRules(id, web, []policy.Result{fail("b", "")}, only("b", "c"))
		clock.Step(time.Second)
		l.SetRules(id, web, []policy.Result{fail("a", ""), pass("a")}, only("a"))
		wantOutcomes(t, "a changed", l, "a web fail at 1", "a web pass at 1", "b web fail at 0")
		l.SetRules(id, web, nil, only("b"))
		wantOutcomes(t, "b gone", l, "a web fail at 1", "a web pass at 1")
		l.SetRules(id, pod("shop", "db"), []policy.Result{pass("b")}, only("b"))
		l.RemoveRules(id, only("a"))
		l.RemoveRules(clusterPolicy("unknown"), only("a"))
		wantOutcomes(t, "a gone", l, "b db pass at 1")
		if got := l.Kinds(); !cmp.Equal(got, map[policy.Identity][]schema.GroupVersionKind{id: {{Version: "v1", Kind: "Pod"}}}) {
			t.Errorf("kinds: %v", got)
		}
		l.Set(id, pod("shop", "db"), nil)
		wantOutcomes(t, "nothing left", l)
	}
}

// TestAdopt: results have the time at which they were found, and never replace newer ones.
func TestAdopt(t *testing.T) {
	t.Parallel()
	l, clock := newTestLayout(Options{Split: true, Allowed: []report.Outcome{report.OutcomeFail, report.OutcomePass}})
	id, web := clusterPolicy("p"), pod("shop", "web")
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	clock.Step(time.Hour)
	adopt := func(seconds int, results ...policy.Result) { l.Adopt(id, web, results, only("a", "b"), at(seconds)) }
	l.Present(id, presentation())
	adopt(5, fail("a", ""), pass("b"), pass("c"))
	wantOutcomes(t, "first", l, "a web fail at 5", "b web pass at 5")
	adopt(4, pass("a"), fail("b", ""))
	wantOutcomes(t, "older", l, "a web fail at 5", "b web pass at 5")
	adopt(6, fail("a", ""), fail("b", ""))
	wantOutcomes(t, "one changed", l, "a web fail at 5", "b web fail at 6")
	adopt(5, pass("a"), pass("b"))
	wantOutcomes(t, "one of them older", l, "a web pass at 5", "b web fail at 6")
	adopt(7, policy.Result{Rule: "a", Outcome: report.OutcomeSkip}, fail("b", ""))
	wantOutcomes(t, "one left out of reports", l, "b web fail at 6")
}

// TestPruneRules: what an earlier process left goes or stays by its rule.
func TestPruneRules(t *testing.T) {
	t.Parallel()
	before, _ := newTestLayout(Options{Split: true})
	id, web := clusterPolicy("p"), pod("shop", "web")
	before.Present(id, presentation())
	before.Set(id, web, []policy.Result{pass("a"), pass("b"), pass("c")})
	after, _ := newTestLayout(Options{Split: true})
	for object := range before.Reports() {
		after.load(object, WGPolicy)
	}
	after.Present(id, presentation())
	after.SetRules(id, web, []policy.Result{fail("a", "")}, func(rule string) bool { return !only("b", "c")(rule) })
	after.PruneUnseen(func(_ policy.Identity, _ policy.Reference, rule string) bool { return rule == "b" })
	wantOutcomes(t, "afterwards", after, "a web fail at 0", "b web pass at 0")
}
