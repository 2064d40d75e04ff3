// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	ephemeral "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

var (
	created = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pod     = report.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "team-a", Name: "web-0", UID: "pod-1"}
	service = report.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: "team-a", Name: "web", UID: "svc-1"}
)

func meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "team-a", Name: "r1", UID: "uid-1", CreationTimestamp: metav1.NewTime(created),
	}
}

// head is what every projection of meta() and no body has.
func head(kind string) engine.Projection {
	return engine.Projection{
		Namespace: "team-a", Name: "r1", UID: "uid-1", Kind: kind, CreatedAt: created.Unix(),
		Results: []engine.Result{},
	}
}

func TestProjectKinds(t *testing.T) {
	t.Parallel()
	entries := []report.Result{{Policy: "p"}}
	for _, test := range []struct {
		kind string
		obj  runtime.Object
		none bool
	}{
		{kind: "PolicyReport", obj: &wgpolicy.PolicyReport{
			ObjectMeta: meta(), ReportBody: wgpolicy.ReportBody{Results: entries},
		}},
		{kind: "ClusterPolicyReport", obj: &wgpolicy.ClusterPolicyReport{
			ObjectMeta: meta(), ReportBody: wgpolicy.ReportBody{Results: entries},
		}},
		{kind: "Report", obj: &openreports.Report{
			ObjectMeta: meta(), ReportBody: openreports.ReportBody{Results: entries},
		}},
		{kind: "ClusterReport", obj: &openreports.ClusterReport{
			ObjectMeta: meta(), ReportBody: openreports.ReportBody{Results: entries},
		}},
		{kind: "EphemeralReport", none: true, obj: &ephemeral.EphemeralReport{
			ObjectMeta: meta(), ReportBody: ephemeral.ReportBody{Spec: ephemeral.EphemeralReportSpec{Results: entries}},
		}},
		{kind: "ClusterEphemeralReport", none: true, obj: &ephemeral.ClusterEphemeralReport{ObjectMeta: meta()}},
	} {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			var want *engine.Projection
			if !test.none {
				full := head(test.kind)
				full.Results = []engine.Result{{Verdict: &engine.Verdict{Policy: "p"}}}
				want = &full
			}
			check(t, test.obj, want)
		})
	}
}

func TestProjectRefusesWhatIsNoReport(t *testing.T) {
	t.Parallel()
	for _, obj := range []runtime.Object{
		nil, &corev1.Pod{}, &wgpolicy.PolicyReportList{},
		(*wgpolicy.PolicyReport)(nil), (*wgpolicy.ClusterPolicyReport)(nil),
		(*openreports.Report)(nil), (*openreports.ClusterReport)(nil),
	} {
		if p, err := Project(obj); err == nil || p != nil {
			t.Errorf("Project(%T) = %v, %v; want an error", obj, p, err)
		}
	}
}

func TestProjectResults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		body   openreports.ReportBody
		change func(*engine.Projection)
	}{
		{
			name:   "empty",
			change: func(*engine.Projection) {},
		},
		{
			name: "all fields",
			body: openreports.ReportBody{
				Scope:   &pod,
				Summary: report.Counts{Pass: 1, Fail: 2, Warn: 3, Error: 4, Skip: 5}.Summary(),
				Results: []report.Result{{
					Source: new("kyverno"), Policy: "p", Rule: "r", Category: "c", Severity: report.SeverityHigh,
					Result: report.OutcomeFail, Message: "m", Scored: new(true),
					Timestamp:  &metav1.Timestamp{Seconds: 7, Nanos: 999_999_999},
					Properties: map[string]string{"b": "2", "a": `say "1" & <go>`},
				}},
			},
			change: func(p *engine.Projection) {
				p.Source = "kyverno"
				p.Scope = &engine.Subject{APIVersion: "v1", Kind: "Pod", Namespace: "team-a", Name: "web-0", UID: "pod-1"}
				p.Pass, p.Fail, p.Warn, p.Error, p.Skip = 1, 2, 3, 4, 5
				p.Results = []engine.Result{{Seconds: 7, Verdict: &engine.Verdict{
					Source: "kyverno", Policy: "p", Rule: "r", Category: "c", Severity: "high", Result: "fail", Message: "m",
					Scored: true, Properties: `{"a":"say \"1\" & <go>","b":"2"}`,
				}}}
			},
		},
		{
			name: "source of the report stands in",
			body: openreports.ReportBody{
				Source:  new("trivy"),
				Results: []report.Result{{Policy: "a"}, {Policy: "b", Source: new("")}, {Policy: "c", Source: new("falco")}},
			},
			change: func(p *engine.Projection) {
				p.Source = "trivy"
				p.Results = []engine.Result{
					{Index: 0, Verdict: &engine.Verdict{Source: "trivy", Policy: "a"}},
					{Index: 1, Verdict: &engine.Verdict{Source: "trivy", Policy: "b"}},
					{Index: 2, Verdict: &engine.Verdict{Source: "falco", Policy: "c"}},
				}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := head("Report")
			test.change(&want)
			check(t, &openreports.Report{ObjectMeta: meta(), ReportBody: test.body}, &want)
		})
	}
}

func TestProjectSubjects(t *testing.T) {
	t.Parallel()
	body := openreports.ReportBody{
		Scope: &pod,
		Results: []report.Result{
			{Policy: "a", Resources: []report.ObjectReference{pod, {}, service}},
			{Policy: "b", Resources: []report.ObjectReference{{}}},
			{Policy: "c", ResourceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			{Policy: "d", Resources: []report.ObjectReference{{ResourceVersion: "1", FieldPath: "spec"}}},
		},
	}
	want := head("Report")
	want.Scope = &engine.Subject{APIVersion: "v1", Kind: "Pod", Namespace: "team-a", Name: "web-0", UID: "pod-1"}
	want.Results = []engine.Result{
		{Index: 0, Verdict: &engine.Verdict{Policy: "a"}, Subject: want.Scope},
		{Index: 0, Verdict: &engine.Verdict{Policy: "a"}, Subject: &engine.Subject{
			APIVersion: "v1", Kind: "Service", Namespace: "team-a", Name: "web", UID: "svc-1",
		}},
		{Index: 1, Verdict: &engine.Verdict{Policy: "b"}},
		{Index: 2, Verdict: &engine.Verdict{Policy: "c"}},
		{Index: 3, Verdict: &engine.Verdict{Policy: "d"}},
	}
	check(t, &openreports.Report{ObjectMeta: meta(), ReportBody: body}, &want)
}

func TestProjectOddValues(t *testing.T) {
	t.Parallel()
	body := openreports.ReportBody{
		Scope:   &report.ObjectReference{},
		Summary: &report.Summary{Pass: new(int64(math.MaxInt64)), Fail: new(int64(math.MinInt64))},
		Results: []report.Result{
			{
				Policy: "a\x00b", Message: "\xff\xfeé", Severity: "\x00", Timestamp: &metav1.Timestamp{Seconds: math.MaxInt64},
				Properties: map[string]string{"k\x00": "1", "k\xff": "2", "\u2028": "\x01\x00\n"},
			},
			{Timestamp: &metav1.Timestamp{Seconds: math.MinInt64, Nanos: -1}, Properties: map[string]string{}},
			{Timestamp: &metav1.Timestamp{Seconds: minSeconds}},
			{Timestamp: &metav1.Timestamp{Seconds: maxSeconds}},
		},
	}
	want := head("Report")
	want.Pass, want.Fail = maxCount, -maxCount
	want.Results = []engine.Result{
		{Index: 0, Verdict: &engine.Verdict{
			Policy: "a\uFFFDb", Message: "\uFFFDé", Severity: "\uFFFD",
			Properties: "{\"k\uFFFD\":\"2\",\"\u2028\":\"\\u0001\uFFFD\\n\"}",
		}},
		{Index: 1, Verdict: &engine.Verdict{}},
		{Index: 2, Verdict: &engine.Verdict{}, Seconds: minSeconds, Ordinal: 1},
		{Index: 3, Verdict: &engine.Verdict{}, Seconds: maxSeconds, Ordinal: 2},
	}
	check(t, &openreports.Report{ObjectMeta: meta(), ReportBody: body}, &want)
}

// check projects obj, compares, and asserts what holds for every projection.
func check(t *testing.T, obj runtime.Object, want *engine.Projection) {
	t.Helper()
	before := obj.DeepCopyObject()
	got := testkit.Must(Project(obj))(t)
	testkit.NoDiff(t, cmp.Diff(want, got), "projection (-want +got)")
	testkit.NoDiff(t, cmp.Diff(before, obj), "Project changed the report")
	if got != nil {
		checkRows(t, got)
	}
}

// checkRows asserts what both databases rely on.
func checkRows(t testing.TB, p *engine.Projection) {
	t.Helper()
	verdicts := map[engine.Verdict]*engine.Verdict{}
	for i, row := range p.Results {
		v := row.Verdict
		if v == nil {
			t.Fatalf("result %d has no verdict", i)
		}
		if known, ok := verdicts[*v]; ok && known != v {
			t.Errorf("result %d: an equal verdict has another pointer", i)
		}
		verdicts[*v] = v
		texts := []string{v.Source, v.Policy, v.Rule, v.Category, v.Severity, v.Result, v.Message, string(v.Properties)}
		for _, s := range texts {
			if s != text(s) {
				t.Errorf("result %d: %q can't be stored", i, s)
			}
		}
		if v.Properties != "" && !json.Valid([]byte(v.Properties)) {
			t.Errorf("result %d: properties %q are not JSON", i, v.Properties)
		}
		if row.Seconds < minSeconds || row.Seconds > maxSeconds {
			t.Errorf("result %d: %d seconds can't be shown as a time", i, row.Seconds)
		}
		if row.Subject != nil && *row.Subject == (engine.Subject{}) {
			t.Errorf("result %d: the subject is empty", i)
		}
	}
}

func TestProjectShares(t *testing.T) {
	t.Parallel()
	var body wgpolicy.ReportBody
	for i := range 20_000 {
		body.Results = append(body.Results, report.Result{
			Policy: fmt.Sprintf("policy-%d", i%3), Properties: map[string]string{"a": "1", "b": "2"},
			Resources: []report.ObjectReference{{Kind: "Pod", Name: fmt.Sprintf("pod-%d", i%100)}},
		})
	}
	p := testkit.Must(Project(&wgpolicy.PolicyReport{ReportBody: body}))(t)
	verdicts, subjects := map[*engine.Verdict]bool{}, map[*engine.Subject]bool{}
	for _, row := range p.Results {
		verdicts[row.Verdict], subjects[row.Subject] = true, true
	}
	if len(p.Results) != 20_000 || len(verdicts) != 3 || len(subjects) != 100 {
		t.Errorf("%d rows, %d verdicts, %d subjects; want 20000, 3, 100", len(p.Results), len(verdicts), len(subjects))
	}
	checkRows(t, p)
}

func TestEqual(t *testing.T) {
	t.Parallel()
	fresh := func() *engine.Projection {
		return &engine.Projection{
			Namespace: "ns", Name: "n", UID: "u", Kind: "k", Source: "s", CreatedAt: 1,
			Scope: &engine.Subject{Name: "scope"}, Pass: 1, Fail: 2, Warn: 3, Error: 4, Skip: 5,
			Results: []engine.Result{
				{Index: 0, Verdict: &engine.Verdict{Policy: "p"}, Seconds: 1},
				{Index: 1, Verdict: &engine.Verdict{Policy: "q"}, Subject: &engine.Subject{Name: "x"}},
			},
		}
	}
	a := fresh()
	if !a.Equal(fresh()) || !a.Equal(a) || !(*engine.Projection)(nil).Equal(nil) {
		t.Error("equal projections are told apart")
	}
	if a.Equal(nil) || (*engine.Projection)(nil).Equal(a) {
		t.Error("a projection equals none")
	}
	for name, change := range map[string]func(p *engine.Projection){
		"namespace": func(p *engine.Projection) { p.Namespace = "" },
		"name":      func(p *engine.Projection) { p.Name = "" },
		"uid":       func(p *engine.Projection) { p.UID = "" },
		"kind":      func(p *engine.Projection) { p.Kind = "" },
		"source":    func(p *engine.Projection) { p.Source = "" },
		"created":   func(p *engine.Projection) { p.CreatedAt = 0 },
		"scope":     func(p *engine.Projection) { p.Scope.UID = "1" },
		"no scope":  func(p *engine.Projection) { p.Scope = nil },
		"pass":      func(p *engine.Projection) { p.Pass = 0 },
		"fail":      func(p *engine.Projection) { p.Fail = 0 },
		"warn":      func(p *engine.Projection) { p.Warn = 0 },
		"error":     func(p *engine.Projection) { p.Error = 0 },
		"skip":      func(p *engine.Projection) { p.Skip = 0 },
		"fewer":     func(p *engine.Projection) { p.Results = p.Results[:1] },
		"index":     func(p *engine.Projection) { p.Results[0].Index = 9 },
		"verdict":   func(p *engine.Projection) { p.Results[0].Verdict.Scored = true },
		"subject":   func(p *engine.Projection) { p.Results[0].Subject = &engine.Subject{} },
		"seconds":   func(p *engine.Projection) { p.Results[1].Seconds = 2 },
		"ordinal":   func(p *engine.Projection) { p.Results[1].Ordinal = 1 },
	} {
		b := fresh()
		change(b)
		if a.Equal(b) || b.Equal(a) {
			t.Errorf("a change of %s is not seen", name)
		}
	}
}

func FuzzProject(f *testing.F) {
	f.Add(`{"results":[{"policy":"p","properties":{"a":"\u0000"},"resources":[null,{"name":"x"}]},{}],"summary":{"pass":9e18}}`)
	f.Add(`{"scope":{},"results":null,"source":""}`)
	f.Add("{\"results\":[{\"message\":\"\xff\",\"timestamp\":{\"seconds\":-9000000000000000000,\"nanos\":-1}}]}")
	f.Fuzz(func(t *testing.T, body string) {
		var r openreports.Report
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Skip()
		}
		// Decoders repair text; objects that didn't come through one aren't repaired.
		r.Name, r.UID = body, types.UID(strings.ToUpper(body))
		p := testkit.Must(Project(&r))(t)
		checkRows(t, p)
		again, err := Project(r.DeepCopy())
		if err != nil || !p.Equal(again) {
			t.Errorf("the same report gave other rows: %v", err)
		}
	})
}
