// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// groupsOf returns the groups of an answer about the example, as texts.
func groupsOf(t *testing.T, spec v1alpha1.ResultQuerySpec) (groups []string, answered *v1alpha1.ResultQuery) {
	t.Helper()
	created := testkit.Must(storageOf[*queryStorage](t, example(), "resultqueries").Create(t.Context(), &v1alpha1.ResultQuery{Spec: spec}, nil, nil))(t)
	answered, ok := created.(*v1alpha1.ResultQuery)
	if !ok {
		t.Fatalf("got %T", created)
	}
	for _, group := range answered.Status.Groups {
		groups = append(groups, fmt.Sprint(group.By, group.Results))
	}
	return groups, answered
}

// TestQueryByMessage: results that say the same of different resources are one group, and the name of the field is
// the one that was asked for.
func TestQueryByMessage(t *testing.T) {
	got, _ := groupsOf(t, v1alpha1.ResultQuerySpec{GroupBy: []string{"message", "day"}, OrderBy: "message"})
	if want := "[map[day:2023-11-14 message:{name} is wrong] 7]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestGroupFields: every field that spec.groupBy can have can be asked for, and is listed once.
func TestGroupFields(t *testing.T) {
	seen := map[engine.Field]string{}
	for _, name := range groupFields() {
		field := groupField(name)
		if field != engine.FieldCluster && !field.Groups() { // Engines have one cluster.
			t.Errorf("%s: results can't be counted by %s", name, field)
		}
		if other, ok := seen[field]; ok {
			t.Errorf("%s and %s are the same field", name, other)
		}
		seen[field] = name
	}
}

// TestQueryByProperty: a property is selected and counted by, and the answer has the name that was asked for, the
// table its own.
func TestQueryByProperty(t *testing.T) {
	const name = `properties["a"]`
	got, query := groupsOf(t, v1alpha1.ResultQuerySpec{
		Filter: name + ` == "b" && report.created < now`, GroupBy: []string{name, `properties["é.x"]`}, OrderBy: name, Having: "results > 1",
	})
	if want := `[map[properties["a"]:b properties["é.x"]:] 7]`; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	table := testkit.Must(queryTable("ResultQuery").ConvertToTable(t.Context(), query, nil))(t)
	if got, want := fmt.Sprintln(table.ColumnDefinitions[0].Name, table.ColumnDefinitions[1].Name, table.Rows[0].Cells), "a é.x [b  7]\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, _ := groupsOf(t, v1alpha1.ResultQuerySpec{Filter: name + ` != "b" || report.created > now`}); len(got) > 0 {
		t.Errorf("got %v, want nothing", got)
	}
}

func TestHaving(t *testing.T) {
	for text, want := range map[string][]engine.Bound{
		"":               nil,
		" \n":            nil,
		"sources >= 2":   {{Of: engine.OrderSources, Operator: engine.AtLeast, Number: 2}},
		"2 < results":    {{Of: engine.OrderResults, Operator: engine.GreaterThan, Number: 2}},
		"-1 >= policies": {{Of: engine.OrderPolicies, Operator: engine.AtMost, Number: -1}},
		"5 == subjects":  {{Of: engine.OrderSubjects, Operator: engine.EqualTo, Number: 5}},
		"(results != 0) && (1 > sources && namespaces < 9)": {
			{Of: engine.OrderResults, Operator: engine.NotEqualTo}, {Of: engine.OrderSources, Operator: engine.LessThan, Number: 1},
			{Of: engine.OrderNamespaces, Operator: engine.LessThan, Number: 9},
		},
	} {
		got, err := compileHaving(text, aggregates())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v and the error %v, want %v", text, got, err, want)
		}
	}
}

func TestHavingErrors(t *testing.T) {
	for text, want := range map[string]string{
		"results":                          "line 1, column 1: this can't be asked",
		"true":                             "this can't be asked",
		"results > ":                       "Syntax error",
		"results > 1 || results < 1":       "|| can't be asked",
		"!(results > 1)":                   "! can't be asked",
		"results > 1 && !(results > 2)":    "column 16",
		"results > subjects":               "this comparison",
		"1 < 2":                            "this comparison",
		"results + 1 > 2":                  "this comparison",
		"results >= 2.0":                   "no matching overload",
		`results == "2"`:                   "no matching overload",
		"results > 99999999999999999999":   "invalid int literal",
		"oldest > 1":                       "undeclared reference",
		"policy == 1":                      "undeclared reference",
		"results in [1]":                   "in can't be asked",
		"results > (subjects > 1 ? 1 : 2)": "this comparison",
		"policies > 1":                     "policies is not counted: add it to spec.aggregates",
		"results > 1" + strings.Repeat(" && results > 1", engine.MaxBounds): "21 comparisons, and 20 at most",
	} {
		got, err := compileHaving(text, []string{askSubjects, askOldest})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v and the error %v, want one with %q", text, got, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "spec.aggregates") && !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: the error %v has no remedy", text, err)
		}
	}
}

// TestQueryHaving: groups that don't meet it are not in the answer, whose table has the columns that were asked for.
func TestQueryHaving(t *testing.T) {
	got, query := groupsOf(t, v1alpha1.ResultQuerySpec{
		GroupBy: []string{"policy"}, Aggregates: []string{"sources", "policies"}, Having: "results > 1 && sources == 5", Limit: 1,
	})
	if fmt.Sprint(got) != "[map[policy:labels] 4]" || query.Status.More {
		t.Errorf("got %v, more %t", got, query.Status.More)
	}
	table := testkit.Must(queryTable("ResultQuery").ConvertToTable(t.Context(), query, &metav1.TableOptions{}))(t)
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	if want := "[Policy Results Sources Policies] [labels 4 5 4]"; fmt.Sprint(columns, table.Rows[0].Cells) != want {
		t.Errorf("got %v %v, want %v", columns, table.Rows[0].Cells, want)
	}
}
