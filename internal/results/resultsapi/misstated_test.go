// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/store/engine"
)

func wrong(namespace, kind, name string) engine.Misstated {
	return engine.Misstated{
		ReportRow: engine.ReportRow{ReportPlace: engine.ReportPlace{Namespace: namespace, Kind: kind, Name: name}, UID: "uid-" + name, CreatedAt: 1},
		Stated:    engine.Outcomes{Pass: 1, Fail: 2, Skip: 4}, Held: engine.Outcomes{Pass: 1, Fail: 3},
	}
}

func misstatements() *fakeEngine {
	return &fakeEngine{revision: 7, wrong: []engine.Misstated{
		wrong("", "ClusterReport", "nodes"),
		wrong("bank", "PolicyReport", "a.b"), wrong("bank", "Report", "a.b"),
		wrong("shop", "PolicyReport", "z"),
	}}
}

func TestMisstatedReports(t *testing.T) {
	const plural, global = "misstatedreports", "clustermisstatedreports"
	for name, test := range map[string]struct {
		plural, namespace, label, field string
		want                            []string
	}{
		"all":            {plural, "", "", "", []string{"bank/policyreport.a.b", "bank/report.a.b", "shop/policyreport.z"}},
		"namespace":      {plural, "shop", "", "", []string{"shop/policyreport.z"}},
		"other":          {plural, "empty", "", "", nil},
		"kind":           {plural, "", "", "report.kind=Report", []string{"bank/report.a.b"}},
		"not a kind":     {plural, "", "", "report.kind!=PolicyReport", []string{"bank/report.a.b"}},
		"report":         {plural, "", "", "report.name=z", []string{"shop/policyreport.z"}},
		"name":           {plural, "", "", "metadata.name=policyreport.a.b", []string{"bank/policyreport.a.b"}},
		"no name":        {plural, "", "", "metadata.name=pod.a.b", nil},
		"contradiction":  {plural, "shop", "", "metadata.namespace=bank", nil},
		"label":          {plural, "", "team=x", "", nil},
		"label missing":  {plural, "shop", "team!=x", "", []string{"shop/policyreport.z"}},
		"cluster":        {global, "", "", "", []string{"/clusterreport.nodes"}},
		"cluster's name": {global, "", "", "metadata.name=clusterreport.nodes", []string{"/clusterreport.nodes"}},
	} {
		r := storageOf[*misstatedStorage](t, misstatements(), test.plural)
		list, err := r.List(inNamespace(t, test.namespace), options(t, test.label, test.field, 0, ""))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := namesIn(t, list); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// namesIn returns the names of the objects in a list, in order.
func namesIn(t *testing.T, list runtime.Object) []string {
	t.Helper()
	var names []string
	err := meta.EachListItem(list, func(o runtime.Object) error {
		object, err := meta.Accessor(o)
		names = append(names, object.GetNamespace()+"/"+object.GetName())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMisstatedPages(t *testing.T) {
	r := storageOf[*misstatedStorage](t, misstatements(), "misstatedreports")
	var got []string
	token := ""
	for pages := 1; ; pages++ {
		list, err := r.List(inNamespace(t, ""), options(t, "", "", 1, token))
		if err != nil {
			t.Fatal(err)
		}
		page := list.(*v1alpha1.MisstatedReportList)
		got = append(got, namesIn(t, page)...)
		if token = page.Continue; token == "" {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
	}
	if want := []string{"bank/policyreport.a.b", "bank/report.a.b", "shop/policyreport.z"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestGetMisstated(t *testing.T) {
	r := storageOf[*misstatedStorage](t, misstatements(), "misstatedreports")
	found, err := r.Get(inNamespace(t, "bank"), "report.a.b", nil)
	if err != nil {
		t.Fatal(err)
	}
	report := found.(*v1alpha1.MisstatedReport)
	owner := metav1.OwnerReference{APIVersion: "openreports.io/v1alpha1", Kind: "Report", Name: "a.b", UID: "uid-a.b"}
	if report.Report != (v1alpha1.ReportName{Kind: "Report", Name: "a.b"}) || report.Stated.Fail != 2 || report.Held.Fail != 3 ||
		!slices.Equal(report.OwnerReferences, []metav1.OwnerReference{owner}) || report.UID == "" || report.CreationTimestamp.Unix() != 1 {
		t.Errorf("%+v", report)
	}
	for _, name := range []string{"report.z", "policyreport", "", "Report.a.b", "clusterreport.nodes"} {
		if found, err := r.Get(inNamespace(t, "bank"), name, nil); !apierrors.IsNotFound(err) {
			t.Errorf("get %q: %v, %v", name, found, err)
		}
	}
	global, err := storageOf[*misstatedStorage](t, misstatements(), "clustermisstatedreports").Get(t.Context(), "clusterreport.nodes", nil)
	if err != nil || global.(*v1alpha1.ClusterMisstatedReport).Report.Name != "nodes" {
		t.Errorf("%v, %v", global, err)
	}
}

func TestMisstatedTable(t *testing.T) {
	r := storageOf[*misstatedStorage](t, misstatements(), "misstatedreports")
	list, err := r.List(inNamespace(t, "shop"), nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.ConvertToTable(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(table.Rows[0].Cells), "[policyreport.z 2 fail, 4 skip 3 fail, 0 skip]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestMisstatedErrors(t *testing.T) {
	r := storageOf[*misstatedStorage](t, misstatements(), "misstatedreports")
	odd, err := place{Revision: 1, Report: "a\x00", Name: "x"}.token()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options *metainternalversion.ListOptions
		want    string
	}{
		"token":         {options(t, "", "", 1, "%"), "continue: this is no token"},
		"odd token":     {options(t, "", "", 1, odd), "continue: the place to continue after is not the name of a report"},
		"label":         {options(t, v1alpha1.LabelResult+"=fail", "", 0, ""), "is a label of results; misstatedreports have no labels"},
		"name":          {options(t, "", "metadata.name!=a", 0, ""), "can be selected with = only"},
		"next revision": {&metainternalversion.ListOptions{ResourceVersion: "8"}, "Too large resource version"},
	} {
		if list, err := r.List(inNamespace(t, ""), test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v, want %q", name, list, err, test.want)
		}
	}
	away := misstatements()
	away.before = func(*fakeEngine) error { return errors.Join(engine.ErrUnavailable, errors.New("no route")) }
	r = storageOf[*misstatedStorage](t, away, "misstatedreports")
	if _, err := r.List(inNamespace(t, ""), nil); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("list while the database is away: %v", err)
	}
	if _, err := r.Get(inNamespace(t, "shop"), "policyreport.z", nil); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("get while the database is away: %v", err)
	}
}
