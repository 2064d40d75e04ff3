// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection

import (
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/policy"
	reports "github.com/docket-project/docket/controller/internal/report"
)

// TestDifference: lost, added, doubled and changed results are found; messages don't count.
func TestDifference(t *testing.T) {
	t.Parallel()
	finding := func(name string, outcome report.Outcome) filescan.Finding {
		return filescan.Finding{Policy: policy.Identity{Kind: policy.ClusterPolicy, Name: "p"}, Subject: policy.Reference{Name: name}, Outcome: outcome, Message: string(outcome)}
	}
	a, b, changed := finding("a", report.OutcomePass), finding("b", report.OutcomePass), finding("b", report.OutcomeFail)
	shortened := b
	shortened.Message = "pa…"
	for name, test := range map[string]struct {
		read []filescan.Finding
		want int
	}{
		"same":      {[]filescan.Finding{b, a}, 0},
		"shortened": {[]filescan.Finding{a, shortened}, 0},
		"lost":      {[]filescan.Finding{a}, 1},
		"added":     {[]filescan.Finding{a, b, finding("c", report.OutcomePass)}, 1},
		"doubled":   {[]filescan.Finding{a, a, b}, 1},
		"changed":   {[]filescan.Finding{a, changed}, 2},
	} {
		err := difference([]filescan.Finding{a, b}, test.read)
		got := 0
		if err != nil {
			got = strings.Count(err.Error(), "reports: ClusterPolicy/p")
		}
		if got != test.want {
			t.Errorf("%s: %d differences, want %d: %v", name, got, test.want, err)
		}
	}
}

// TestReadBackChecksReports: identity, counts and references are part of what is compared.
func TestReadBackChecksReports(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*wgpolicy.PolicyReport)
		want   string
	}{
		"good":          {func(*wgpolicy.PolicyReport) {}, ""},
		"no identity":   {func(r *wgpolicy.PolicyReport) { r.Annotations = nil }, reports.PolicyAnnotation},
		"other policy":  {func(r *wgpolicy.PolicyReport) { r.Results[0].Policy = "q" }, `"q"`},
		"wrong summary": {func(r *wgpolicy.PolicyReport) { r.Summary = report.Counts{Fail: 1}.Summary() }, "summary"},
		"no resource":   {func(r *wgpolicy.PolicyReport) { r.Results[0].Resources = nil }, "0 resources"},
	} {
		one := &wgpolicy.PolicyReport{}
		one.Annotations = map[string]string{reports.PolicyAnnotation: "ClusterPolicy/p"}
		one.Results = []report.Result{{Policy: "p", Result: report.OutcomePass, Resources: []report.ObjectReference{{Kind: "Pod", Name: "a"}}}}
		one.Summary = report.Counts{Pass: 1}.Summary()
		test.change(one)
		findings, err := readBack(slices.Values([]report.Accessor{one}))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if test.want == "" && (len(findings) != 1 || findings[0].Subject.Name != "a") {
			t.Errorf("%s: findings %v", name, findings)
		}
	}
}
