// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestResultsCanBeToldApart: consumers such as policy-reporter know a result by the scope of its
// report or, where there is none, by its resource, and by policy, rule, outcome, category and
// message. By this each result is one of its own, also in a report with a single one, which
// may get more.
func TestResultsCanBeToldApart(t *testing.T) {
	t.Parallel()
	const pods = 30
	for _, options := range []Options{{Split: true}, {}, {Split: true, API: OpenReports}, {API: OpenReports}} {
		l, _ := newTestLayout(options)
		l.Present(clusterPolicy("a"), presentation())
		for i := range pods {
			l.Set(clusterPolicy("a"), pod("default", fmt.Sprint(i)), []policy.Result{fail("check", "no labels")})
		}
		l.Set(clusterPolicy("a"), pod("single", "x"), []policy.Result{fail("check", "no labels")})
		l.Set(clusterPolicy("a"), policy.Reference{APIVersion: "v1", Kind: "Namespace", Name: "default", UID: "y"}, []policy.Result{fail("check", "no labels")})
		known := map[string]bool{}
		for object := range l.Reports() {
			for _, result := range object.GetResults() {
				known[consumerID(t, object, &result)] = true
			}
		}
		if len(known) != pods+2 {
			t.Errorf("%+v: consumers find %d results of %d", options, len(known), pods+2)
		}
	}
}

// consumerID is what a consumer knows a result by.
func consumerID(t *testing.T, object report.Accessor, result *report.Result) string {
	t.Helper()
	var body struct {
		Scope *report.ObjectReference `json:"scope"`
	}
	testkit.NoError(t, json.Unmarshal([]byte(asJSON(t, object)), &body))
	about := body.Scope
	if about == nil {
		about = &result.Resources[0]
	}
	return fmt.Sprint(about.Name, about.UID, result.Policy, result.Rule, result.Result, result.Category, result.Message)
}

// TestAllowedResults: reports have the results that they may have, and count those alone; a failure
// that is shown as a warning is one.
func TestAllowedResults(t *testing.T) {
	t.Parallel()
	all := []policy.Result{
		pass("p"), fail("f", "m"), {Rule: "w", Outcome: report.OutcomeWarn}, {Rule: "e", Outcome: report.OutcomeError}, {Rule: "s", Outcome: report.OutcomeSkip},
	}
	for name, test := range map[string]struct {
		allowed []report.Outcome
		scored  bool
		want    report.Counts
	}{
		"all":                   {nil, true, report.Counts{Pass: 1, Fail: 1, Warn: 1, Error: 1, Skip: 1}},
		"fail and error":        {[]report.Outcome{report.OutcomeFail, report.OutcomeError}, true, report.Counts{Fail: 1, Error: 1}},
		"fail, not scored":      {[]report.Outcome{report.OutcomeFail}, false, report.Counts{Warn: 1}},
		"warnings of the rules": {[]report.Outcome{report.OutcomeWarn}, false, report.Counts{Warn: 1}},
	} {
		options := Options{Split: true, Allowed: test.allowed}
		shown := presentation()
		shown.Scored = test.scored
		l, _ := newTestLayout(options)
		l.Present(clusterPolicy("a"), shown)
		l.Set(clusterPolicy("a"), pod("default", "x"), all)
		before := onlyReport(t, l)
		if got := before.GetSummary().Counts(); got != test.want || report.Count(before.GetResults()) != test.want {
			t.Errorf("%s: the report has %+v and counts %+v", name, report.Count(before.GetResults()), got)
		}
		// Of the report that an earlier process has left, what may be there remains.
		unbounded, _ := newTestLayout(Options{Split: true})
		unbounded.Present(clusterPolicy("a"), shown)
		unbounded.Set(clusterPolicy("a"), pod("default", "x"), all)
		next, _ := newTestLayout(options)
		next.load(onlyReport(t, unbounded), WGPolicy)
		loaded := report.Count(onlyReport(t, next).GetResults())
		if !test.scored && test.want.Warn == 1 {
			loaded.Warn = 1 // Which of the two warnings it was is not known until the policy is evaluated.
		}
		if loaded != test.want {
			t.Errorf("%s: after a restart the report has %+v", name, loaded)
		}
		next.Present(clusterPolicy("a"), shown)
		next.Set(clusterPolicy("a"), pod("default", "x"), all)
		if got := report.Count(onlyReport(t, next).GetResults()); got != test.want {
			t.Errorf("%s: after a restart and a scan the report has %+v", name, got)
		}
		next.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{{Rule: "s", Outcome: report.OutcomeSkip}})
		if left := len(texts(t, next)); (left == 0) != (test.allowed != nil) {
			t.Errorf("%s: %d reports without a result that may be there", name, left)
		}
	}
}

func onlyReport(t *testing.T, l *Layout) report.Accessor {
	t.Helper()
	all := slices.Collect(l.Reports())
	if len(all) != 1 {
		t.Fatalf("%d reports", len(all))
	}
	return all[0]
}
