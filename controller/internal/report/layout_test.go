// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/controller/internal/policy"
)

var start = time.Unix(1_800_000_000, 0)

func newTestLayout(options Options) (*Layout, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(start)
	options.Clock = clock
	return NewLayout(options), clock
}

func clusterPolicy(name string) policy.Identity {
	return policy.Identity{Kind: policy.ClusterPolicy, Name: name}
}

func pod(namespace, name string) policy.Reference {
	return policy.Reference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name)}
}

func presentation() policy.Presentation {
	return policy.Presentation{Source: "kyverno", Category: "Best Practices", Severity: report.SeverityHigh, Scored: true, Process: "background scan"}
}

func pass(rule string) policy.Result { return policy.Result{Rule: rule, Outcome: report.OutcomePass} }

func fail(rule, message string) policy.Result {
	return policy.Result{Rule: rule, Outcome: report.OutcomeFail, Message: message}
}

// texts returns the JSON of all reports by namespace/name.
func texts(t *testing.T, l *Layout) map[string]string {
	t.Helper()
	all := map[string]string{}
	for object := range l.Reports() {
		all[object.GetNamespace()+"/"+object.GetName()] = asJSON(t, object)
	}
	return all
}

// differing returns the names of the reports that changed.
func differing(before, after map[string]string) []string {
	names := map[string]bool{}
	for name, text := range after {
		names[name] = before[name] != text
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names[name] = true
		}
	}
	maps.DeleteFunc(names, func(_ string, changed bool) bool { return !changed })
	return slices.Sorted(maps.Keys(names))
}

func TestSplitReport(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{Split: true})
	id := policy.Identity{Kind: policy.ClusterPolicy, Name: "require-labels"}
	l.Present(id, presentation())
	l.Set(id, pod("default", "b"), []policy.Result{fail("check", "no <labels>"), {Rule: "autogen-check", Outcome: report.OutcomeSkip, Properties: map[string]string{"a": "b"}}})
	l.Set(id, pod("default", "a"), []policy.Result{pass("check")})
	l.Set(id, policy.Reference{APIVersion: "v1", Kind: "Namespace", Name: "default"}, []policy.Result{pass("check")})
	result := func(rule, name string, outcome report.Outcome) report.Result {
		return report.Result{
			Source: new("kyverno"), Policy: "require-labels", Rule: rule, Category: "Best Practices", Severity: report.SeverityHigh,
			Timestamp: &metav1.Timestamp{Seconds: start.Unix()}, Result: outcome, Scored: new(true),
			Resources:  []report.ObjectReference{{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)}},
			Properties: map[string]string{"process": "background scan"},
		}
	}
	skipped, failed := result("autogen-check", "b", report.OutcomeSkip), result("check", "b", report.OutcomeFail)
	skipped.Properties = map[string]string{"a": "b", "process": "background scan"}
	failed.Message = "no <labels>"
	cluster := result("check", "", report.OutcomePass)
	cluster.Resources = []report.ObjectReference{{APIVersion: "v1", Kind: "Namespace", Name: "default"}}
	marks := metav1.ObjectMeta{
		Labels: map[string]string{
			"app.kubernetes.io/managed-by": "docket-controller", "docket.dev/policy-kind": "ClusterPolicy",
			"docket.dev/policy-name": "require-labels", "docket.dev/layout": "split", "docket.dev/chunk": "0",
		},
		Annotations: map[string]string{"docket.dev/policy": "ClusterPolicy/require-labels"},
	}
	inCluster, inNamespace := marks, marks
	inCluster.Name = "clusterpolicyreport-require-labels"
	inNamespace.Name, inNamespace.Namespace = "polr-ns-default-require-labels", "default"
	want := []report.Accessor{
		&wgpolicy.ClusterPolicyReport{
			TypeMeta: metav1.TypeMeta{APIVersion: "wgpolicyk8s.io/v1alpha2", Kind: "ClusterPolicyReport"}, ObjectMeta: inCluster,
			ReportBody: wgpolicy.ReportBody{Summary: report.Counts{Pass: 1}.Summary(), Results: []report.Result{cluster}},
		},
		&wgpolicy.PolicyReport{
			TypeMeta: metav1.TypeMeta{APIVersion: "wgpolicyk8s.io/v1alpha2", Kind: "PolicyReport"}, ObjectMeta: inNamespace,
			ReportBody: wgpolicy.ReportBody{
				Summary: report.Counts{Pass: 1, Fail: 1, Skip: 1}.Summary(),
				Results: []report.Result{skipped, result("check", "a", report.OutcomePass), failed},
			},
		},
	}
	if diff := cmp.Diff(want, slices.Collect(l.Reports())); diff != "" {
		t.Error(diff)
	}
}

func TestReportPerNamespace(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{API: OpenReports})
	own := policy.Identity{Kind: policy.NamespacedPolicy, Namespace: "default", Name: "a"}
	for _, id := range []policy.Identity{clusterPolicy("b"), own} {
		l.Present(id, presentation())
		l.Set(id, pod("default", "x"), []policy.Result{pass("r")})
	}
	all := slices.Collect(l.Reports())
	if len(all) != 1 {
		t.Fatalf("%d reports", len(all))
	}
	got, ok := all[0].(*openreports.Report)
	if !ok || got.Name != "polr-ns-default" || got.APIVersion != "openreports.io/v1alpha1" || got.Kind != "Report" || *got.Source != "kyverno" {
		t.Errorf("the report is %s", asJSON(t, all[0]))
	}
	if got.Results[0].Policy != "b" || got.Results[1].Policy != "default/a" {
		t.Errorf("the policies are %s and %s", got.Results[0].Policy, got.Results[1].Policy)
	}
	wantLabels := map[string]string{ManagedByLabel: Manager, LayoutLabel: LayoutNamespace, ChunkLabel: "0"}
	wantAnnotations := map[string]string{PoliciesAnnotation: "ClusterPolicy/b=kyverno,Policy/default/a=kyverno"}
	if diff := cmp.Diff(wantLabels, got.Labels) + cmp.Diff(wantAnnotations, got.Annotations); diff != "" {
		t.Error(diff)
	}
}

// TestEqualNames: policies of one name and different kinds have reports of their own.
func TestEqualNames(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{Split: true})
	for _, id := range []policy.Identity{
		clusterPolicy("a"), {Kind: policy.NamespacedPolicy, Namespace: "default", Name: "a"},
		{Kind: policy.ValidatingPolicy, Name: "a"}, {Kind: policy.NamespacedValidatingPolicy, Namespace: "default", Name: "a"},
	} {
		l.Set(id, pod("default", "x"), []policy.Result{pass("r")})
	}
	policies := map[string]bool{}
	for object := range l.Reports() {
		policies[object.GetAnnotations()[PolicyAnnotation]] = len(object.GetResults()) == 1
	}
	if len(policies) != 4 || len(texts(t, l)) != 4 {
		t.Errorf("the reports are on %v", policies)
	}
}

// TestTimestamps: a result has the time when its outcome, message or properties changed.
func TestTimestamps(t *testing.T) {
	t.Parallel()
	l, clock := newTestLayout(Options{Split: true})
	id := clusterPolicy("a")
	set := func(result policy.Result) int64 {
		clock.Step(time.Minute)
		l.Set(id, pod("default", "x"), []policy.Result{pass("other"), result})
		for object := range l.Reports() {
			return object.GetResults()[1].Timestamp.Seconds - start.Unix()
		}
		return -1
	}
	for i, step := range []struct {
		result policy.Result
		want   int64
	}{
		{fail("r", "a"), 60},
		{fail("r", "a"), 60},
		{fail("r", "b"), 180},
		{policy.Result{Rule: "r", Outcome: report.OutcomeError, Message: "b"}, 240},
		{policy.Result{Rule: "r", Outcome: report.OutcomeError, Message: "b", Properties: map[string]string{"a": "b"}}, 300},
		{policy.Result{Rule: "r", Outcome: report.OutcomeError, Message: "b", Properties: map[string]string{"a": "b"}}, 300},
		{pass("r"), 420},
	} {
		if got := set(step.result); got != step.want {
			t.Errorf("step %d: the time is %d, want %d", i, got, step.want)
		}
	}
	clock.Step(time.Hour)
	l.Present(id, presentation())
	if got := set(pass("r")); got != 420 {
		t.Errorf("another presentation changed the time to %d", got)
	}
}

// TestUnchangedIsClean: what changes nothing leaves nothing to write.
func TestUnchangedIsClean(t *testing.T) {
	t.Parallel()
	l, clock := newTestLayout(Options{Split: true})
	id := clusterPolicy("a")
	do := func() {
		l.Present(id, presentation())
		l.Set(id, pod("default", "x"), []policy.Result{fail("r", "m"), pass("s")})
		l.Set(id, pod("default", "y"), []policy.Result{pass("r"), pass("s")})
		l.Set(clusterPolicy("unknown"), pod("default", "x"), nil)
		l.Set(id, pod("default", "z"), nil)
	}
	do()
	if n := len(l.takeChanges().reports); n != 1 {
		t.Errorf("%d reports changed at first", n)
	}
	clock.Step(time.Hour)
	do()
	if taken := l.takeChanges(); len(taken.reports) != 0 {
		t.Errorf("the same results again changed %v", taken.reports)
	}
	if len(l.policies) != 1 || len(l.subjects) != 2 {
		t.Errorf("%d policies and %d subjects are known", len(l.policies), len(l.subjects))
	}
}

// TestUnscored: failures of unscored policies are warnings.
func TestUnscored(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{Split: true})
	id := clusterPolicy("a")
	l.Set(id, pod("default", "x"), []policy.Result{fail("r", "m")})
	shown := presentation()
	for _, scored := range []bool{true, false, true} {
		shown.Scored = scored
		l.Present(id, shown)
		want := report.OutcomeFail
		if !scored {
			want = report.OutcomeWarn
		}
		for object := range l.Reports() {
			got := object.GetResults()[0]
			if got.Result != want || *got.Scored != scored || object.GetSummary().Counts() != report.Count(object.GetResults()) {
				t.Errorf("scored %v: %s", scored, asJSON(t, object))
			}
		}
		if total := l.counts.total; total[position(want)] != 1 || total[position(report.OutcomeFail)]+total[position(report.OutcomeWarn)] != 1 {
			t.Errorf("scored %v: counted %v", scored, total)
		}
	}
}

// TestGone: results of deleted subjects, rules and policies go, and empty reports with them.
func TestGone(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{true, false} {
		l, _ := newTestLayout(Options{Split: split})
		for _, name := range []string{"a", "b"} {
			for _, subject := range []string{"x", "y"} {
				l.Set(clusterPolicy(name), pod("default", subject), []policy.Result{pass("r"), pass("s")})
			}
		}
		count := func() int {
			n := 0
			for object := range l.Reports() {
				n += len(object.GetResults())
			}
			return n
		}
		l.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{pass("s")})
		if n := count(); n != 7 {
			t.Errorf("%d results after a rule went", n)
		}
		l.RemovePolicy(clusterPolicy("a"))
		if n := count(); n != 4 {
			t.Errorf("%d results after a policy went", n)
		}
		l.RemovePolicy(clusterPolicy("never"))
		l.Set(clusterPolicy("b"), pod("default", "x"), nil)
		l.Set(clusterPolicy("b"), pod("default", "y"), nil)
		if n := len(texts(t, l)); n != 0 || len(l.groups)+len(l.chunks)+len(l.subjects) != 0 || l.counts.total != (counts{}) {
			t.Errorf("%d reports, %d groups, %d subjects after the last result went", n, len(l.groups), len(l.subjects))
		}
	}
}

// TestManyRules: the results of one subject may need several reports.
func TestManyRules(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{Split: true})
	id := clusterPolicy("large")
	results := make([]policy.Result, 2000)
	for i := range results {
		results[i] = pass(fmt.Sprintf("rule-%04d", i))
	}
	l.Set(id, pod("default", "x"), results)
	before := texts(t, l)
	if len(before) != 4 {
		t.Errorf("2,000 results are in %d reports", len(before))
	}
	slices.Reverse(results) // The order of the results is not that of the report.
	l.Set(id, pod("default", "x"), results)
	if changed := differing(before, texts(t, l)); len(changed) > 0 {
		t.Errorf("another order changed %v", changed)
	}
	results[700] = fail(results[700].Rule, "now")
	l.Set(id, pod("default", "x"), results)
	if changed := differing(before, texts(t, l)); len(changed) != 1 {
		t.Errorf("one result changed %v", changed)
	}
}

// TestRuleWithSeveralResults: nth stays with nth.
func TestRuleWithSeveralResults(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{Split: true})
	id := clusterPolicy("a")
	l.Set(id, pod("default", "x"), []policy.Result{fail("r", "one"), fail("r", "two"), pass("s")})
	l.takeChanges()
	l.Set(id, pod("default", "x"), []policy.Result{fail("r", "one"), fail("r", "two"), pass("s")})
	if taken := l.takeChanges(); len(taken.reports) != 0 {
		t.Error("the same results again are a change")
	}
	l.Set(id, pod("default", "x"), []policy.Result{fail("r", "one")})
	for object := range l.Reports() {
		if n := len(object.GetResults()); n != 1 {
			t.Errorf("%d results are left", n)
		}
	}
}

// TestMovedResultIsKnown: a result that outgrows its report is in another, and the writer is
// told from where it came.
func TestMovedResultIsKnown(t *testing.T) {
	t.Parallel()
	l, _ := newTestLayout(Options{Split: true, MaxBytes: 32 << 10})
	id := clusterPolicy("a")
	for i := range 4 {
		l.Set(id, pod("default", fmt.Sprint(i)), []policy.Result{fail("r", strings.Repeat("m", 6000))})
	}
	l.takeChanges()
	l.Set(id, pod("default", "1"), []policy.Result{fail("r", strings.Repeat("m", 14_000))})
	taken := l.takeChanges()
	if len(taken.reports) != 2 || len(taken.moves) != 1 || taken.moves[0].from.name != "polr-ns-default-a" || taken.moves[0].to.name == taken.moves[0].from.name {
		t.Errorf("changed %v, moved %v", taken.reports, taken.moves)
	}
}
