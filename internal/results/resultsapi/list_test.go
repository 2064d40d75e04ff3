// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store/engine"
)

// rowOf is a row of a report. About is KIND/NAME, or "" for a result that is about nothing.
func rowOf(namespace, report string, index int, policy, result, severity, about string) engine.ResultRow {
	kind := "PolicyReport"
	if namespace == "" {
		kind = "ClusterPolicyReport"
	}
	row := engine.ResultRow{
		Report: &engine.ReportRow{ReportPlace: engine.ReportPlace{Namespace: namespace, Kind: kind, Name: report}, UID: "uid-" + report, CreatedAt: 1},
		Result: engine.Result{Index: int32(index), Seconds: 1_700_000_000, Verdict: &engine.Verdict{
			Source: "kyverno", Policy: policy, Rule: "check", Result: result, Severity: severity, Message: "\x01 is wrong",
			Properties: `{"a":"b"}`,
		}},
	}
	if about != "" {
		kind, name, _ := strings.Cut(about, "/")
		row.Subject = &engine.Subject{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name, UID: "uid-" + name}
	}
	return row
}

func example() *fakeEngine {
	e := &fakeEngine{revision: 7, rows: []engine.ResultRow{
		rowOf("shop", "r1", 0, "labels", "fail", "high", "Pod/web-1"),
		rowOf("shop", "r1", 1, "probes", "pass", "low", "Pod/web-1"),
		rowOf("shop", "r1", 2, "labels", "pass", "high", "Pod/web-1"), // A duplicate of the first one: see below.
		rowOf("shop", "r2", 0, "labels", "fail", "critical", "Pod/web-2"),
		rowOf("bank", "r1", 0, "labels", "pass", "high", "Pod/db-0"),
		rowOf("bank", "r3", 0, "bench/1.2.3 long name", "warn", "", ""),
		rowOf("", "c1", 0, "names", "error", "medium", "Namespace/shop"),
	}}
	e.rows[2].Ordinal = 1
	return e
}

// ordinal returns a row as the n-th duplicate, from 0.
func ordinal(row engine.ResultRow, n int32) *engine.ResultRow {
	row.Ordinal = n
	return &row
}

// storageOf returns what serves a resource from an engine.
func storageOf[S rest.Storage](t *testing.T, e engine.Questions, plural string) S {
	t.Helper()
	s := &source{questions: e, cluster: "test", timeout: time.Minute}
	s.served = func() []mapping.Kind { return Kinds(registry.Groups()) }
	for _, served := range storages(s) {
		if served.name() == plural {
			storage, ok := served.(S)
			if !ok {
				t.Fatalf("%s is served by %T", plural, served)
			}
			return storage
		}
	}
	t.Fatalf("%s is not served", plural)
	panic("unreachable")
}

func inNamespace(t *testing.T, namespace string) context.Context {
	t.Helper()
	return request.WithNamespace(t.Context(), namespace)
}

// options of a list; selectors are as clients write them.
func options(t *testing.T, label, field string, limit int64, token string) *metainternalversion.ListOptions {
	t.Helper()
	l := testkit.Must(labels.Parse(label))(t)
	f := testkit.Must(fields.ParseSelector(field))(t)
	return &metainternalversion.ListOptions{LabelSelector: l, FieldSelector: f, Limit: limit, Continue: token}
}

// listed returns the results of a list as NAMESPACE/REPORT/INDEX, in order.
func listed(t *testing.T, r *resultStorage, namespace string, o *metainternalversion.ListOptions) []string {
	t.Helper()
	list := testkit.Must(r.List(inNamespace(t, namespace), o))(t)
	return shown(t, list.(*v1alpha1.PolicyResultList).Items)
}

func shown(t *testing.T, items []v1alpha1.PolicyResult) []string {
	t.Helper()
	var all []string
	for _, item := range items {
		all = append(all, fmt.Sprintf("%s/%s/%d", item.Namespace, item.Report.Name, item.Report.Index))
	}
	slices.Sort(all)
	return all
}

func TestSelectors(t *testing.T) {
	r := storageOf[*resultStorage](t, example(), "policyresults")
	long := v1alpha1.LabelPolicy + "=" + v1alpha1.LabelValue("bench/1.2.3 long name")
	first := example().rows[0]
	for name, test := range map[string]struct {
		namespace, label, field string
		want                    []string
	}{
		"all":                 {"", "", "", []string{"bank/r1/0", "bank/r3/0", "shop/r1/0", "shop/r1/1", "shop/r1/2", "shop/r2/0"}},
		"namespace":           {"bank", "", "", []string{"bank/r1/0", "bank/r3/0"}},
		"selected namespace":  {"", "", "metadata.namespace=bank", []string{"bank/r1/0", "bank/r3/0"}},
		"two namespaces":      {"shop", "", "metadata.namespace=bank", nil},
		"result":              {"", "", "result=fail", []string{"shop/r1/0", "shop/r2/0"}},
		"not result":          {"shop", "", "result!=fail", []string{"shop/r1/1", "shop/r1/2"}},
		"two fields":          {"", "", "result=fail,severity=critical", []string{"shop/r2/0"}},
		"subject":             {"", "", "subject.kind=Pod,subject.name=web-2", []string{"shop/r2/0"}},
		"no subject":          {"", "", "subject.kind=", []string{"bank/r3/0"}},
		"report":              {"", "", "report.name=r1,report.kind=PolicyReport", []string{"bank/r1/0", "shop/r1/0", "shop/r1/1", "shop/r1/2"}},
		"name":                {"shop", "", "metadata.name=" + nameOf(&first), []string{"shop/r1/0"}},
		"name of a duplicate": {"shop", "", "metadata.name=" + nameOf(ordinal(first, 1)), []string{"shop/r1/2"}},
		"name and another":    {"shop", "", "result=pass,metadata.name=" + nameOf(&first), nil},
		"two names":           {"shop", "", "metadata.name=a,metadata.name=b", nil},
		"no name":             {"shop", "", "metadata.name=web", nil},
		"label":               {"", v1alpha1.LabelResult + "=fail", "", []string{"shop/r1/0", "shop/r2/0"}},
		"label in":            {"", v1alpha1.LabelSeverity + " in (critical,low)", "", []string{"shop/r1/1", "shop/r2/0"}},
		"label notin":         {"", v1alpha1.LabelSeverity + " notin (critical,high,low)", "", []string{"bank/r3/0"}},
		"label is there":      {"bank", v1alpha1.LabelSeverity, "", []string{"bank/r1/0"}},
		"label is not there":  {"bank", "!" + v1alpha1.LabelSeverity, "", []string{"bank/r3/0"}},
		"empty label":         {"bank", v1alpha1.LabelSeverity + "=", "", nil},
		"label with a hash":   {"", long, "", []string{"bank/r3/0"}},
		"other label":         {"", "app=web", "", nil},
		"not other label":     {"bank", "app!=web", "", []string{"bank/r1/0", "bank/r3/0"}},
		"other is not there":  {"bank", "!app", "", []string{"bank/r1/0", "bank/r3/0"}},
		"labels and fields":   {"", v1alpha1.LabelPolicy + "=labels", "severity=high", []string{"bank/r1/0", "shop/r1/0", "shop/r1/2"}},
		"kind of the subject": {"bank", v1alpha1.LabelSubjectKind + " in (Pod)", "", []string{"bank/r1/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := listed(t, r, test.namespace, options(t, test.label, test.field, 0, "")); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestLabelsAreThoseThatSelect(t *testing.T) {
	r := storageOf[*resultStorage](t, example(), "policyresults")
	list := testkit.Must(r.List(inNamespace(t, ""), nil))(t)
	for _, item := range list.(*v1alpha1.PolicyResultList).Items {
		for key, value := range item.Labels {
			found := listed(t, r, item.Namespace, options(t, key+"="+value, "", 0, ""))
			if !slices.Contains(found, shown(t, []v1alpha1.PolicyResult{item})[0]) {
				t.Errorf("%s=%s doesn't select %s, which has it", key, value, item.Name)
			}
		}
	}
}

// TestNamesAreThoseOfAnySelector: a result has the same name in each list, also in one that leaves out its duplicates.
func TestNamesAreThoseOfAnySelector(t *testing.T) {
	r := storageOf[*resultStorage](t, example(), "policyresults")
	named := func(selector string) map[v1alpha1.ReportReference]string {
		list := testkit.Must(r.List(inNamespace(t, "shop"), options(t, "", selector, 0, "")))(t)
		names := map[v1alpha1.ReportReference]string{}
		for _, item := range list.(*v1alpha1.PolicyResultList).Items {
			names[item.Report] = item.Name
		}
		return names
	}
	all := named("")
	for _, selector := range []string{"result=fail", "result=pass", "policy=labels", "severity!=critical", "result=pass,policy=labels"} {
		some := named(selector)
		if len(some) == 0 {
			t.Errorf("%s selects nothing", selector)
		}
		for at, name := range some {
			if all[at] != name {
				t.Errorf("%s: %v is %s, and %s in a list of everything", selector, at, name, all[at])
			}
		}
	}
}

// TestPages: whatever the size of pages, each result is on one of them, in the same order.
func TestPages(t *testing.T) {
	r := storageOf[*resultStorage](t, example(), "policyresults")
	whole := testkit.Must(r.List(inNamespace(t, ""), nil))(t)
	var want []string
	for _, item := range whole.(*v1alpha1.PolicyResultList).Items {
		want = append(want, item.Namespace+"/"+item.Name)
	}
	for _, selector := range []string{"", "result!=error"} {
		for limit := int64(1); limit < 8; limit++ {
			var got []string
			for token, first := "", true; first || token != ""; first = false {
				list := testkit.Must(r.List(inNamespace(t, ""), options(t, "", selector, limit, token)))(t)
				page := list.(*v1alpha1.PolicyResultList)
				if page.Consistency != v1alpha1.ConsistencySnapshot {
					t.Errorf("nothing has changed, and a page is %s", page.Consistency)
				}
				for _, item := range page.Items {
					got = append(got, item.Namespace+"/"+item.Name)
				}
				if int64(len(page.Items)) > limit {
					t.Errorf("a page of %d has %d results", limit, len(page.Items))
				}
				token = page.Continue
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q in pages of %d: got %v, want %v", selector, limit, got, want)
			}
		}
	}
}

// TestPagesWhileReportsAreWritten: what exists all the time is listed once, though its place in the report changes.
func TestPagesWhileReportsAreWritten(t *testing.T) {
	e := &fakeEngine{revision: 1}
	const results = 20
	write := func() {
		e.revision++
		e.rows = nil
		for i := range results {
			at := (i*7 + int(e.revision)*3) % results // Another order each time.
			e.rows = append(e.rows, rowOf("shop", "r", at, fmt.Sprintf("p%02d", i), "fail", "high", "Pod/web"))
		}
	}
	write()
	e.before = func(*fakeEngine) error { write(); return nil }
	r := storageOf[*resultStorage](t, e, "policyresults")
	seen := map[string]int{}
	var last *v1alpha1.PolicyResultList
	for token, first := "", true; first || token != ""; first = false {
		list := testkit.Must(r.List(inNamespace(t, "shop"), options(t, "", "", 3, token)))(t)
		last = list.(*v1alpha1.PolicyResultList)
		for _, item := range last.Items {
			seen[item.Policy]++
		}
		token = last.Continue
	}
	for i := range results {
		if policy := fmt.Sprintf("p%02d", i); seen[policy] != 1 {
			t.Errorf("%s was listed %d times", policy, seen[policy])
		}
	}
	if last.Consistency != v1alpha1.ConsistencyStable {
		t.Errorf("reports were written between pages, and the last one is %s", last.Consistency)
	}
}

func TestGet(t *testing.T) {
	e := example()
	r := storageOf[*resultStorage](t, e, "policyresults")
	list := testkit.Must(r.List(inNamespace(t, ""), nil))(t)
	for _, item := range list.(*v1alpha1.PolicyResultList).Items {
		got, err := r.Get(inNamespace(t, item.Namespace), item.Name, nil)
		if err != nil {
			t.Errorf("%s/%s: %v", item.Namespace, item.Name, err)
			continue
		}
		if result := got.(*v1alpha1.PolicyResult); result.Report != item.Report || result.UID != item.UID {
			t.Errorf("%s is %v in the list and %v by its name", item.Name, item.Report, result.Report)
		}
	}
	for _, name := range []string{"web", "none-0000000000000", nameOf(ordinal(e.rows[0], 5))} {
		if _, err := r.Get(inNamespace(t, "shop"), name, nil); !apierrors.IsNotFound(err) {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
	if _, err := r.Get(inNamespace(t, "bank"), nameOf(&e.rows[0]), nil); !apierrors.IsNotFound(err) {
		t.Errorf("a name of another namespace: got the error %v", err)
	}
}

// TestGetAmongMany: a result that is about nothing is found behind more than a page of others.
func TestGetAmongMany(t *testing.T) {
	e := &fakeEngine{revision: 1}
	for i := range 2*MaxPage + 1 {
		e.rows = append(e.rows, rowOf("shop", fmt.Sprintf("r%05d", i/100), i%100, fmt.Sprintf("p%d", i), "fail", "", ""))
	}
	last := e.rows[len(e.rows)-1]
	r := storageOf[*resultStorage](t, e, "policyresults")
	got, err := r.Get(inNamespace(t, "shop"), nameOf(&last), nil)
	if err != nil || got.(*v1alpha1.PolicyResult).Policy != last.Verdict.Policy {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := r.Get(inNamespace(t, "shop"), "none-0000000000000", nil); !apierrors.IsNotFound(err) {
		t.Errorf("got the error %v", err)
	}
}

func TestObject(t *testing.T) {
	e := example()
	global := storageOf[*resultStorage](t, e, "clusterpolicyresults")
	list := testkit.Must(global.List(t.Context(), nil))(t)
	items := list.(*v1alpha1.ClusterPolicyResultList).Items
	if len(items) != 1 {
		t.Fatalf("got %d results outside of namespaces", len(items))
	}
	got := items[0]
	if got.Message != "shop is wrong" || got.Properties["a"] != "b" || got.Cluster != "test" || got.Timestamp.Unix() != 1_700_000_000 {
		t.Errorf("got %+v", got)
	}
	owner := metav1.OwnerReference{APIVersion: "wgpolicyk8s.io/v1alpha2", Kind: "ClusterPolicyReport", Name: "c1", UID: "uid-c1"}
	if len(got.OwnerReferences) != 1 || got.OwnerReferences[0] != owner {
		t.Errorf("the owners are %v, want %v", got.OwnerReferences, owner)
	}
	if got.UID == "" || got.CreationTimestamp.Unix() != 1 {
		t.Errorf("the metadata is %+v", got.ObjectMeta)
	}
}

// TestKinds: which kinds have results is known at each question, and those with a mapping are among them.
func TestKinds(t *testing.T) {
	trivy := mapping.Kind{Group: "aquasecurity.github.io", Version: "v1alpha1", Kind: "VulnerabilityReport", Resource: "vulnerabilityreports", Namespaced: true}
	e := &fakeEngine{revision: 7, rows: []engine.ResultRow{rowOf("shop", "scan", 0, "CVE-2026-0001", "fail", "high", "Pod/web")}}
	e.rows[0].Report.Kind = trivy.Kind
	r := storageOf[*resultStorage](t, e, "policyresults")
	listed := func() []v1alpha1.PolicyResult {
		return testkit.Must(r.List(t.Context(), nil))(t).(*v1alpha1.PolicyResultList).Items
	}
	if got := listed(); len(got) != 0 {
		t.Errorf("a kind that is not served has the results %v", got)
	}
	r.source.served = func() []mapping.Kind { return Kinds([]string{"openreports.io"}, trivy) }
	got := listed()
	if len(got) != 1 || len(got[0].OwnerReferences) != 1 || got[0].OwnerReferences[0].APIVersion != "aquasecurity.github.io/v1alpha1" || got[0].Report.Kind != trivy.Kind {
		t.Errorf("a kind with a mapping has the results %+v", got)
	}
	want := []engine.ReportKind{
		{Kind: "ClusterReport", Resource: "/openreports.io/clusterreports/"}, {Kind: "Report", Resource: "/openreports.io/reports/"},
		{Kind: "VulnerabilityReport", Resource: "/aquasecurity.github.io/vulnerabilityreports/"},
	}
	if kinds := ReportKinds(r.source.served()); !slices.Equal(kinds, want) {
		t.Errorf("kinds are %v, want %v", kinds, want)
	}
	if HasResults([]mapping.Kind{trivy}) || !HasResults(r.source.served()) || HasResults(Kinds([]string{"reports.kyverno.io"})) {
		t.Error("the group is served without kinds in namespaces and outside them, or not with them")
	}
}

func TestListErrors(t *testing.T) {
	r := storageOf[*resultStorage](t, example(), "policyresults")
	for name, test := range map[string]struct {
		options *metainternalversion.ListOptions
		want    string
	}{
		"token":            {options(t, "", "", 0, "abc"), "continue"},
		"name everywhere":  {options(t, "", "metadata.name=a", 0, ""), "needs a namespace"},
		"not a name":       {options(t, "", "metadata.name!=a", 0, ""), "with = only"},
		"exact revision":   {&metainternalversion.ListOptions{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, "Exact is not possible"},
		"revision":         {&metainternalversion.ListOptions{ResourceVersion: "x"}, "resourceVersion"},
		"later revision":   {&metainternalversion.ListOptions{ResourceVersion: "8"}, "Too large resource version"},
		"order of a label": {options(t, v1alpha1.LabelSeverity+">1", "", 0, ""), "can't be compared"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.List(inNamespace(t, ""), test.options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got the error %v, want one with %q", err, test.want)
			}
			if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
				t.Errorf("clients can't read the error %v", err)
			}
		})
	}
	if _, _, err := r.convertField("colour", "red"); err == nil || !strings.Contains(err.Error(), "subject.name") || !strings.Contains(err.Error(), v1alpha1.LabelSeverity) {
		t.Errorf("an unknown field: got the error %v", err)
	}
}

// TestDatabaseAway: errors of the database are those that reports get, and never a short list.
func TestDatabaseAway(t *testing.T) {
	e := example()
	e.before = func(*fakeEngine) error { return fmt.Errorf("rows: %w", engine.ErrUnavailable) }
	ctx := inNamespace(t, "shop")
	_, listErr := storageOf[*resultStorage](t, e, "policyresults").List(ctx, nil)
	_, getErr := storageOf[*resultStorage](t, e, "policyresults").Get(ctx, nameOf(&e.rows[0]), nil)
	_, summaryErr := storageOf[*summaryStorage](t, e, "policysummaries").List(ctx, nil)
	_, queryErr := storageOf[*queryStorage](t, e, "localresultqueries").Create(ctx, &v1alpha1.LocalResultQuery{}, nil, nil)
	for name, err := range map[string]error{"list": listErr, "get": getErr, "summary": summaryErr, "query": queryErr} {
		var status apierrors.APIStatus
		if !errors.As(err, &status) || status.Status().Code != 503 {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
}

func TestTable(t *testing.T) {
	r := storageOf[*resultStorage](t, example(), "policyresults")
	list := testkit.Must(r.List(inNamespace(t, "bank"), options(t, "", "", 1, "")))(t)
	table := testkit.Must(r.ConvertToTable(t.Context(), list, nil))(t)
	var narrow []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			narrow = append(narrow, column.Name)
		}
	}
	if want := []string{"Result", "Severity", "Policy", "Rule", "Subject", "Age"}; !slices.Equal(narrow, want) {
		t.Errorf("got the columns %v, want %v", narrow, want)
	}
	if len(table.Rows) != 1 || table.Rows[0].Cells[4] != "Pod/bank/db-0" || table.Continue == "" {
		t.Errorf("got %+v", table)
	}
	if _, err := meta.Accessor(table.Rows[0].Object.Object); err != nil {
		t.Error(err)
	}
}
