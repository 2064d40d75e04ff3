// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// Identities are stored: these must never change.
func TestIdentitiesAreStable(t *testing.T) {
	t.Parallel()
	verdict := engine.Verdict{Source: "kyverno", Policy: "p", Result: "pass", Scored: true}
	if got, want := verdict.ID(), int64(-4375674098752505901); got != want {
		t.Errorf("verdict: %d, want %d", got, want)
	}
	subject := engine.Subject{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "web"}
	if got, want := subject.ID(), int64(-7271717353100877157); got != want {
		t.Errorf("subject: %d, want %d", got, want)
	}
}

// What moves from one field to the next makes another identity.
func TestIdentitiesDiffer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	seen := map[int64]engine.Verdict{}
	for _, v := range []engine.Verdict{
		{}, {Source: "ab"}, {Source: "a", Policy: "b"}, {Policy: "ab"}, {Policy: "a", Rule: "b"}, {Scored: true},
		{Message: long}, {Message: long + "x"}, {Properties: engine.JSON(long)},
	} {
		if other, ok := seen[v.ID()]; ok {
			t.Errorf("%+v and %+v have one identity", v, other)
		}
		seen[v.ID()] = v
	}
}

// Each field is in one column, except those that are stored elsewhere.
func TestColumnsHaveAllFields(t *testing.T) {
	t.Parallel()
	checkColumns(t, engine.VerdictColumns)
	checkColumns(t, engine.SubjectColumns)
	checkColumns(t, engine.ReportColumns, "Scope", "Results")
}

func checkColumns[T any](t *testing.T, columns []engine.Column[T], elsewhere ...string) {
	t.Helper()
	row := reflect.New(reflect.TypeFor[T]()).Elem()
	fields := map[any]string{}
	for i := range row.NumField() {
		fields[row.Field(i).Addr().Interface()] = row.Type().Field(i).Name
	}
	for _, name := range elsewhere {
		delete(fields, row.FieldByName(name).Addr().Interface())
	}
	pointer, _ := row.Addr().Interface().(*T)
	for _, column := range columns {
		field := column.Field(pointer)
		switch field.(type) {
		case *string, *engine.JSON, *int64, *bool:
		default:
			t.Errorf("column %s of %T is a %T", column.Name, *pointer, field)
		}
		if _, ok := fields[field]; !ok {
			t.Errorf("column %s of %T has no field of its own", column.Name, *pointer)
		}
		delete(fields, field)
	}
	for _, name := range fields {
		t.Errorf("field %s of %T has no column", name, *pointer)
	}
}

// TestOrdinals: results are counted that have the same subject, source, policy and rule, whatever else is in them.
func TestOrdinals(t *testing.T) {
	pod, other := &engine.Subject{Kind: "Pod", Name: "a"}, &engine.Subject{Kind: "Pod", Name: "b"}
	verdict := func(policy, rule, result string) *engine.Verdict {
		return &engine.Verdict{Source: "s", Policy: policy, Rule: rule, Result: result}
	}
	p := engine.Projection{Scope: pod, Results: []engine.Result{
		{Verdict: verdict("p", "r", "fail")},
		{Verdict: verdict("p", "r", "pass"), Subject: other},
		{Verdict: verdict("p", "r", "pass"), Subject: &engine.Subject{Kind: "Pod", Name: "a"}, Seconds: 7},
		{Verdict: verdict("p", "q", "fail")},
		{Verdict: verdict("pr", "", "fail"), Ordinal: 9},
		{Verdict: &engine.Verdict{Source: "t", Policy: "p", Rule: "r"}},
		{Verdict: verdict("p", "r", "fail")},
		{Verdict: verdict("p", "r", "fail"), Subject: other},
	}}
	p.SetOrdinals()
	var got []int32
	for _, result := range p.Results {
		got = append(got, result.Ordinal)
	}
	if want := []int32{0, 0, 1, 0, 0, 0, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
