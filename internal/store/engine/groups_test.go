// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

func TestDay(t *testing.T) {
	for seconds, want := range map[int64]string{
		0: "", 1: "1970-01-01", -1: "1969-12-31", 86_399: "1970-01-01", 86_400: "1970-01-02", -62_135_596_800: "0001-01-01", 253_402_300_799: "9999-12-31",
	} {
		if got := engine.Day(seconds); got != want {
			t.Errorf("%d: got %q, want %q", seconds, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	for field, want := range map[engine.Field]bool{
		engine.FieldPolicy: true, engine.FieldSubjectName: true, engine.FieldTemplate: true, engine.FieldDay: true,
		engine.FieldMessage: false, engine.FieldSeconds: false, engine.FieldCreated: false, "colour": false, "": false,
	} {
		if got := field.Groups(); got != want {
			t.Errorf("%q: got %t", field, got)
		}
	}
}

func TestBounds(t *testing.T) {
	kinds := []engine.ReportKind{{Kind: "Report"}}
	bound := func(of engine.Field, operator engine.Operator) engine.CountQuery {
		return engine.CountQuery{Kinds: kinds, Limit: 1, Policies: true, Having: []engine.Bound{{Of: of, Operator: operator, Number: 2}}}
	}
	for name, test := range map[string]struct {
		q  engine.CountQuery
		ok bool
	}{
		"results":       {bound(engine.OrderResults, engine.AtLeast), true},
		"asked for":     {bound(engine.OrderPolicies, engine.NotEqualTo), true},
		"not asked for": {bound(engine.OrderSources, engine.AtLeast), false},
		"a time":        {bound(engine.OrderOldest, engine.AtLeast), false},
		"a field":       {bound(engine.FieldPolicy, engine.AtLeast), false},
		"no comparison": {bound(engine.OrderResults, engine.Contains), false},
		"too many":      {engine.CountQuery{Kinds: kinds, Limit: 1, Having: make([]engine.Bound, engine.MaxBounds+1)}, false},
	} {
		if err := test.q.Check(); (err == nil) != test.ok {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
	for operator, want := range map[engine.Operator][3]bool{
		engine.LessThan: {true, false, false}, engine.AtMost: {true, true, false}, engine.EqualTo: {false, true, false},
		engine.NotEqualTo: {true, false, true}, engine.AtLeast: {false, true, true}, engine.GreaterThan: {false, false, true},
	} {
		q := bound(engine.OrderPolicies, operator)
		for i := range want {
			if got := q.Meets(&engine.Count{Policies: int64(i + 1)}); got != want[i] {
				t.Errorf("%d %s 2: got %t", i+1, operator, got)
			}
		}
	}
}
