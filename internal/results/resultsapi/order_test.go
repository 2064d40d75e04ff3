// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// timed is example with a time for each result: rows are found one second after the other, and one of them at no time.
func timed() *fakeEngine {
	e := example()
	for i := range e.rows {
		e.rows[i].Seconds += int64(i)
	}
	e.rows[3].Seconds = 0
	return e
}

// ordered asks for results of everything, and returns the answer with its results as NAMESPACE/REPORT/INDEX, in order.
func ordered(t *testing.T, e *fakeEngine, filter string, order v1alpha1.ResultOrder) (*v1alpha1.ResultQuery, []string) {
	t.Helper()
	query := &v1alpha1.ResultQuery{Spec: v1alpha1.ResultQuerySpec{Filter: filter, Results: &order}}
	answered := testkit.Must(storageOf[*queryStorage](t, e, "resultqueries").Create(t.Context(), query, nil, nil))(t)
	query = answered.(*v1alpha1.ResultQuery)
	var all []string
	for _, r := range query.Status.Results {
		all = append(all, fmt.Sprintf("%s/%s/%d", r.Namespace, r.Report.Name, r.Report.Index))
	}
	return query, all
}

func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		filter string
		order  v1alpha1.ResultOrder
		want   []string
	}{
		"newest":        {"", v1alpha1.ResultOrder{}, []string{"/c1/0", "bank/r3/0", "bank/r1/0", "shop/r1/2", "shop/r1/1", "shop/r1/0", "shop/r2/0"}},
		"oldest":        {`result == "fail"`, v1alpha1.ResultOrder{OrderBy: "timestamp"}, []string{"shop/r1/0", "shop/r2/0"}},
		"newest, named": {`result == "fail"`, v1alpha1.ResultOrder{OrderBy: "timestamp", Descending: true}, []string{"shop/r1/0", "shop/r2/0"}},
		"worst":         {"", v1alpha1.ResultOrder{OrderBy: "severity", Limit: 3}, []string{"shop/r2/0", "bank/r1/0", "shop/r1/2"}},
		"least bad":     {"", v1alpha1.ResultOrder{OrderBy: "severity", Descending: true, Limit: 2}, []string{"bank/r3/0", "shop/r1/1"}},
		"subject":       {"", v1alpha1.ResultOrder{OrderBy: "subject.name", Descending: true, Limit: 2}, []string{"shop/r2/0", "shop/r1/2"}},
		"nothing":       {`policy == "none"`, v1alpha1.ResultOrder{}, nil},
	} {
		query, got := ordered(t, timed(), test.filter, test.order)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
		status := query.Status
		if more := test.order.Limit > 0; status.More != more || (status.Continue != "") != more || status.ResourceVersion != "7" {
			t.Errorf("%s: got more %t, continue %q, resource version %q", name, status.More, status.Continue, status.ResourceVersion)
		}
	}
}

// TestOrderedNames: a client can get a result by its name, even if it has a duplicate that is not in the answer.
func TestOrderedNames(t *testing.T) {
	e := timed()
	for at, filter := range map[string]string{"shop/r1/2": `policy == "labels" && result == "pass" && report.namespace == "shop"`, "/c1/0": `result == "error"`} {
		query, got := ordered(t, e, filter, v1alpha1.ResultOrder{})
		if !slices.Equal(got, []string{at}) {
			t.Fatalf("got %v, want %s", got, at)
		}
		r, plural := query.Status.Results[0], "policyresults"
		if r.Namespace == "" {
			plural = "cluster" + plural
		}
		object, err := storageOf[*resultStorage](t, e, plural).Get(inNamespace(t, r.Namespace), r.Name, nil)
		if err != nil {
			t.Fatalf("get %s: %v", r.Name, err)
		}
		if got := object.(resultObject).GetResult(); got.Report != r.Report || got.Message != r.Message || got.Policy != r.Policy {
			t.Errorf("%s is %+v, and the answer has %+v", r.Name, got, r.Result)
		}
	}
}

func TestOrderedPages(t *testing.T) {
	for _, order := range append(engine.Orders(), "") {
		_, want := ordered(t, timed(), "", v1alpha1.ResultOrder{OrderBy: string(order)})
		var got []string
		for token, first := "", true; first || token != "" && len(got) <= len(want); first = false {
			query, page := ordered(t, timed(), "", v1alpha1.ResultOrder{OrderBy: string(order), Limit: 2, Continue: token})
			got, token = append(got, page...), query.Status.Continue
		}
		if len(want) != 7 || !slices.Equal(got, want) {
			t.Errorf("by %q: got %v, want %v", order, got, want)
		}
	}
}

// TestOrderedLocally: a question about a namespace gets results of this one only, whatever its token says.
func TestOrderedLocally(t *testing.T) {
	query, _ := ordered(t, timed(), "", v1alpha1.ResultOrder{Limit: 1})
	local := &v1alpha1.LocalResultQuery{Spec: v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{Continue: query.Status.Continue}}}
	answered := testkit.Must(storageOf[*queryStorage](t, timed(), "localresultqueries").Create(inNamespace(t, "bank"), local, nil, nil))(t)
	found := answered.(*v1alpha1.LocalResultQuery).Status.Results
	if len(found) != 2 || found[0].Namespace != "bank" || found[1].Namespace != "bank" {
		t.Errorf("got %+v", found)
	}
}

// TestOrderedAtOnce: results and their names are of one snapshot, and the next page begins where it would after
// reports are gone.
func TestOrderedAtOnce(t *testing.T) {
	e, calls := timed(), 0
	e.before = func(*fakeEngine) error {
		calls++
		return nil
	}
	query, got := ordered(t, e, "", v1alpha1.ResultOrder{Limit: 2})
	if !slices.Equal(got, []string{"/c1/0", "bank/r3/0"}) || calls != 1 {
		t.Fatalf("got %v, after %d questions", got, calls)
	}
	e.rows = e.rows[:6]
	if _, got := ordered(t, e, "", v1alpha1.ResultOrder{Limit: 1, Continue: query.Status.Continue}); !slices.Equal(got, []string{"bank/r1/0"}) {
		t.Errorf("the next page is %v", got)
	}
}

func TestOrderErrors(t *testing.T) {
	other, _ := ordered(t, timed(), "", v1alpha1.ResultOrder{OrderBy: "policy", Limit: 1})
	strange := base64.RawURLEncoding.EncodeToString([]byte(`{"v":1,"by":"timestamp","desc":true,"kind":"Report","report":"\u0000"}`))
	later := base64.RawURLEncoding.EncodeToString([]byte(`{"v":2,"by":"timestamp","desc":true,"kind":"Report","report":"r"}`))
	r := storageOf[*queryStorage](t, timed(), "resultqueries")
	for name, test := range map[string]struct {
		spec v1alpha1.ResultQuerySpec
		want []string
	}{
		"groups": {
			v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{}, GroupBy: []string{"policy"}, Aggregates: []string{"subjects"}, OrderBy: "policy", Descending: true, Limit: 1},
			[]string{"spec.groupBy: Forbidden", "spec.aggregates: Forbidden", "spec.orderBy: Forbidden", "spec.descending: Forbidden", "spec.limit: Forbidden", "spec.results asks for results"},
		},
		"expression":  {v1alpha1.ResultQuerySpec{Filter: "colour == 1", Results: &v1alpha1.ResultOrder{}}, []string{"spec.filter"}},
		"too long":    {v1alpha1.ResultQuerySpec{Filter: strings.Repeat(" ", maxExpression+1), Results: &v1alpha1.ResultOrder{}}, []string{"spec.filter: Too long"}},
		"order":       {v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{OrderBy: "message"}}, []string{`spec.results.orderBy: Unsupported value: "message"`, `"timestamp"`, `"subject.name"`}},
		"direction":   {v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{Descending: true}}, []string{"spec.results.descending", "needs orderBy"}},
		"limit":       {v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{Limit: 1001}}, []string{"spec.results.limit", "from 0 to 1000"}},
		"limit below": {v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{Limit: -1}}, []string{"spec.results.limit"}},
		"no token":    {v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{Continue: "?"}}, []string{"spec.results.continue", "begin without it"}},
		"no object":   {v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{Continue: "e30"}}, []string{"spec.results.continue", "begin without it"}},
		"strange":     {v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{Continue: strange}}, []string{"spec.results.continue", "begin without it"}},
		"version":     {v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{Continue: later}}, []string{"spec.results.continue", "begin without it"}},
		"other order": {
			v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{OrderBy: "rule", Continue: other.Status.Continue}},
			[]string{"spec.results.continue", "another order"},
		},
		"other direction": {
			v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{OrderBy: "policy", Descending: true, Continue: other.Status.Continue}},
			[]string{"spec.results.continue", "another order"},
		},
	} {
		_, err := r.Create(t.Context(), &v1alpha1.ResultQuery{Spec: test.spec}, nil, nil)
		if !apierrors.IsInvalid(err) {
			t.Errorf("%s: got the error %v", name, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got the error %v, want one with %q", name, err, want)
			}
		}
	}
}

func TestOrderedTable(t *testing.T) {
	query, _ := ordered(t, timed(), "", v1alpha1.ResultOrder{Limit: 2})
	r := storageOf[*queryStorage](t, timed(), "resultqueries")
	table := testkit.Must(r.ConvertToTable(t.Context(), query, &metav1.TableOptions{}))(t)
	if len(table.ColumnDefinitions) < 6 || table.ColumnDefinitions[4].Name != "Subject" || table.ResourceVersion != "7" {
		t.Errorf("got the columns %+v", table.ColumnDefinitions)
	}
	if len(table.Rows) != 2 || table.Rows[0].Cells[0] != "error" || table.Rows[0].Cells[4] != "Namespace/shop" || table.Rows[1].Cells[2] != "bench/1.2.3 long name" {
		t.Errorf("got the rows %+v", table.Rows)
	}
}
