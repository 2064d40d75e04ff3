// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

func TestFilterCheck(t *testing.T) {
	deep := engine.Equal(engine.FieldPolicy, "p")
	for range engine.MaxFilterDepth {
		deep = engine.Negate(deep)
	}
	for name, test := range map[string]struct {
		filter *engine.Filter
		want   string // Part of the error; "" for none.
	}{
		"nil":                {nil, ""},
		"all of nothing":     {&engine.Filter{Operator: engine.All}, ""},
		"negated everything": {engine.Negate(nil), ""},
		"in":                 {engine.OneOf(engine.FieldResult, "fail", "error"), ""},
		"time":               {&engine.Filter{Operator: engine.LessThan, Field: engine.FieldSeconds, Number: 1}, ""},
		"zero":               {&engine.Filter{}, "no field"},
		"unknown operator":   {&engine.Filter{Operator: "like", Field: engine.FieldPolicy}, "no operator"},
		"unknown field":      {engine.Equal("colour", "red"), `no field "colour"`},
		"text of a time":     {engine.Equal(engine.FieldSeconds, "1"), "is a number"},
		"number of a text":   {&engine.Filter{Operator: engine.GreaterThan, Field: engine.FieldPolicy}, "is a text"},
		"no text":            {&engine.Filter{Operator: engine.Contains, Field: engine.FieldPolicy}, "needs one text"},
		"not of nothing":     {&engine.Filter{Operator: engine.Not}, "negates 0"},
		"missing operand":    {&engine.Filter{Operator: engine.Any, Operands: []*engine.Filter{nil}}, "missing"},
		"number of property": {&engine.Filter{Operator: engine.LessThan, Field: engine.Property("a")}, "is a text"},
		"text of creation":   {engine.Equal(engine.FieldCreated, "1"), "is a number"},
		"not UTF-8":          {engine.Equal(engine.FieldPolicy, "\xff"), "not UTF-8"},
		"too deep":           {deep, "nested deeper"},
		"too many values":    {engine.OneOf(engine.FieldPolicy, make([]string, engine.MaxFilterValues+1)...), "values"},
	} {
		t.Run(name, func(t *testing.T) {
			switch err := test.filter.Check(); {
			case test.want == "" && err != nil:
				t.Errorf("got the error %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got the error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestFilterSQL(t *testing.T) {
	filter := engine.Both(nil, engine.OneOf(engine.FieldResult, "fail", "error"),
		engine.Negate(&engine.Filter{Operator: engine.StartsWith, Field: engine.FieldPolicy, Values: []string{"' OR 1"}}),
		&engine.Filter{Operator: engine.Any, Operands: []*engine.Filter{
			{Operator: engine.EndsWith, Field: engine.FieldRule, Values: []string{"x"}},
			{Operator: engine.GreaterThan, Field: engine.FieldSeconds, Number: 7},
		}})
	var bound []any
	got := filter.SQL(engine.Dialect{
		Column: func(f engine.Field) string { return "c." + string(f) },
		Bind: func(value any) string {
			bound = append(bound, value)
			return "?" + strconv.Itoa(len(bound))
		},
		Position: func(text, in string) string { return "at(" + text + ", " + in + ")" },
		Ends:     func(text, with string) string { return "ends(" + text + ", " + with + ")" },
	})
	want := "(c.result IN (?1, ?2) AND NOT (at(?3, c.policy) = 1) AND (ends(c.rule, ?4) OR c.timestamp > ?5))"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(bound) != 5 || bound[2] != "' OR 1" || bound[4] != int64(7) {
		t.Errorf("bound are %v", bound)
	}
}

func TestFilterMatch(t *testing.T) {
	row := func(f engine.Field) string {
		return map[engine.Field]string{engine.FieldPolicy: "require-labels", engine.FieldResult: "fail", engine.FieldCreated: "7", engine.Property("score"): "8.5"}[f]
	}
	for name, test := range map[string]struct {
		filter *engine.Filter
		want   bool
	}{
		"nil":        {nil, true},
		"none":       {&engine.Filter{Operator: engine.Any}, false},
		"in":         {engine.OneOf(engine.FieldResult, "error", "fail"), true},
		"not in":     {engine.Negate(engine.OneOf(engine.FieldResult, "error")), true},
		"starts":     {&engine.Filter{Operator: engine.StartsWith, Field: engine.FieldPolicy, Values: []string{"labels"}}, false},
		"ends":       {&engine.Filter{Operator: engine.EndsWith, Field: engine.FieldPolicy, Values: []string{"labels"}}, true},
		"contains":   {&engine.Filter{Operator: engine.Contains, Field: engine.FieldPolicy, Values: []string{"e-l"}}, true},
		"both":       {engine.Both(engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldPolicy, "other")), false},
		"before":     {&engine.Filter{Operator: engine.LessThan, Field: engine.FieldSeconds, Number: 10}, false},
		"after":      {&engine.Filter{Operator: engine.GreaterThan, Field: engine.FieldSeconds, Number: 9}, true},
		"at":         {&engine.Filter{Operator: engine.EqualTo, Field: engine.FieldSeconds, Number: 10}, true},
		"no subject": {engine.Equal(engine.FieldSubjectName, ""), true},
		"made":       {&engine.Filter{Operator: engine.EqualTo, Field: engine.FieldCreated, Number: 7}, true},
		"made after": {&engine.Filter{Operator: engine.GreaterThan, Field: engine.FieldCreated, Number: 7}, false},
		"property":   {engine.Equal(engine.Property("score"), "8.5"), true},
	} {
		if got := test.filter.Match(row, 10); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
