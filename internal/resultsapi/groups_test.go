// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"fmt"
	"testing"

	"github.com/docket-project/docket/api/results/v1alpha1"
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

// TestQueryByMessage: results that say the same of different resources are one group, and the name of the field is the one
// that was asked for.
func TestQueryByMessage(t *testing.T) {
	got, _ := groupsOf(t, v1alpha1.ResultQuerySpec{GroupBy: []string{"message", "day"}, OrderBy: "message"})
	if want := "[map[day:2023-11-14 message:{name} is wrong] 7]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestGroupFields: what can be in spec.groupBy can be asked for, and is not there twice.
func TestGroupFields(t *testing.T) {
	seen := map[engine.Field]string{}
	for _, name := range groupFields() {
		field := groupField(name)
		if !field.Groups() {
			t.Errorf("%s: results can't be counted by %s", name, field)
		}
		if other, ok := seen[field]; ok {
			t.Errorf("%s and %s are the same field", name, other)
		}
		seen[field] = name
	}
}
