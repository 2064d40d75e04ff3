// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	kyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestOf(t *testing.T) {
	t.Parallel()
	results := []report.Result{{Source: new("kyverno"), Policy: "p"}}
	summary := report.Counts{Pass: 1}.Summary()
	scope := report.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "team-a", Name: "web", UID: "u1"}
	clusterScope := scope
	clusterScope.Namespace = ""
	owner := &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "u1"}
	spec := kyverno.ReportBody{Spec: kyverno.EphemeralReportSpec{Owner: owner, Summary: summary, Results: results}}
	inTeamA := metav1.ObjectMeta{Namespace: "team-a"}
	policyBody := wgpolicy.ReportBody{Scope: &scope, Summary: summary, Results: results}
	openBody := openreports.ReportBody{Source: new("trivy"), Scope: &scope, Summary: summary, Results: results}

	for name, test := range map[string]struct {
		object runtime.Object
		source string
		scope  report.ObjectReference
	}{
		"PolicyReport":           {&wgpolicy.PolicyReport{ReportBody: policyBody}, "kyverno", scope},
		"ClusterPolicyReport":    {&wgpolicy.ClusterPolicyReport{ReportBody: policyBody}, "kyverno", scope},
		"Report":                 {&openreports.Report{ReportBody: openBody}, "trivy", scope},
		"ClusterReport":          {&openreports.ClusterReport{ReportBody: openBody}, "trivy", scope},
		"EphemeralReport":        {&kyverno.EphemeralReport{ObjectMeta: inTeamA, ReportBody: spec}, "kyverno", scope},
		"ClusterEphemeralReport": {&kyverno.ClusterEphemeralReport{ReportBody: spec}, "kyverno", clusterScope},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accessor, ok := test.object.(report.Accessor)
			if !ok {
				t.Fatalf("%T is not an Accessor", test.object)
			}
			if got := accessor.GetSource(); got != test.source {
				t.Errorf("source = %q, want %q", got, test.source)
			}
			testkit.NoDiff(t, cmp.Diff(&test.scope, accessor.GetScope()), "scope (-want +got)")
			testkit.NoDiff(t, cmp.Diff(results, accessor.GetResults()), "results (-want +got)")
			testkit.NoDiff(t, cmp.Diff(summary, accessor.GetSummary()), "summary (-want +got)")
		})
	}
}

func TestOfEmptyReports(t *testing.T) {
	t.Parallel()
	for _, object := range []runtime.Object{
		&wgpolicy.PolicyReport{}, &openreports.Report{}, &kyverno.EphemeralReport{}, &kyverno.ClusterEphemeralReport{},
	} {
		accessor, ok := object.(report.Accessor)
		if !ok {
			t.Fatalf("%T is not an Accessor", object)
		}
		if accessor.GetScope() != nil || accessor.GetSource() != "" || accessor.GetResults() != nil || accessor.GetSummary() != nil {
			t.Errorf("empty %T has scope %v, source %q, results %v, summary %v", object,
				accessor.GetScope(), accessor.GetSource(), accessor.GetResults(), accessor.GetSummary())
		}
	}
}

func TestOfOtherObjects(t *testing.T) {
	t.Parallel()
	for _, object := range []runtime.Object{nil, &metav1.Status{}, &openreports.ReportList{}} {
		if accessor, ok := object.(report.Accessor); ok {
			t.Errorf("%T is taken for a report: %v", object, accessor)
		}
	}
}

func TestCommonSource(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sources []*string
		want    string
	}{
		"no results":    {nil, ""},
		"one":           {[]*string{new("kyverno")}, "kyverno"},
		"the same":      {[]*string{new("kyverno"), new("kyverno")}, "kyverno"},
		"different":     {[]*string{new("kyverno"), new("trivy")}, ""},
		"first is left": {[]*string{nil, new("trivy")}, ""},
		"last is left":  {[]*string{new("trivy"), nil}, ""},
		"none":          {[]*string{nil, nil}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var results []report.Result
			for _, source := range test.sources {
				results = append(results, report.Result{Source: source})
			}
			if got := report.CommonSource(results); got != test.want {
				t.Errorf("CommonSource = %q, want %q", got, test.want)
			}
		})
	}
}
