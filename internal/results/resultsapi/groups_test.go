// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"fmt"
	"testing"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// groupsOf returns the groups of an answer about the example, as texts.
func groupsOf(t *testing.T, spec v1alpha1.ResultQuerySpec) (groups []string, answered *v1alpha1.ResultQuery) {
	t.Helper()
	created, err := storageOf[*queryStorage](t, example(), "resultqueries").Create(t.Context(), &v1alpha1.ResultQuery{Spec: spec}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
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
