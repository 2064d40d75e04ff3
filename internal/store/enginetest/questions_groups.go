// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// groupCases count by what is made of results, and not stored as it is asked for.
var groupCases = []testCase{
	{"Messages", testMessageGroups},
	{"Days", testDayGroups},
	{"Aggregates", testAggregates},
	{"Bounds", testBounds},
	{"Properties", testProperties},
}

// groupable are all fields that results can be counted by.
func groupable() []engine.Field {
	fields := slices.DeleteFunc(engine.Fields(), func(f engine.Field) bool { return !f.Groups() })
	return append(fields, engine.FieldTemplate, engine.FieldDay, engine.Property("a"))
}

// odd are texts that mean something to databases, to formats, or to Docket.
func odd() []string {
	return []string{
		"", "'", "' OR 1 = 1 --", "%", "_", "?1", "$1", "@cluster", "\x01", "\x02 of \x03", "{name}", "{namespace} of {uid}", "é", "𝒳", "\uFFFD", "A", "a", " ", "]", "$",
	}
}

// oddMessages are two reports, in two namespaces, with results that say odd things at odd times.
func oddMessages() []engine.Op {
	seconds := []int64{0, 1, -1, 86_399, 86_400, -86_400, -86_401, 1_700_000_000, -62_135_596_800, 253_402_300_799}
	var ops []engine.Op
	for i, namespace := range []string{"a", "b"} {
		p := &engine.Projection{Namespace: namespace, Name: "odd", Kind: "PolicyReport", Scope: &engine.Subject{Kind: "Pod", Name: "web", UID: "1"}}
		for j, text := range odd() {
			p.Results = append(p.Results, engine.Result{
				Index: int32(j), Seconds: seconds[(i+j)%len(seconds)],
				Verdict: &engine.Verdict{Source: text, Policy: fmt.Sprint(j % 3), Result: []string{"pass", "fail"}[i], Message: text},
			})
		}
		ops = append(ops, keyed(p))
	}
	return ops
}

// eachOrder compares counts in each order, and with few and many groups.
func (p pair) eachOrder(q engine.CountQuery) {
	p.Helper()
	q.Kinds = questionKinds
	for _, order := range append(slices.Clone(q.By), "", engine.OrderResults) {
		for _, limit := range []int{1, 7, 1000} {
			q.OrderBy, q.Limit, q.Descending = order, limit, !q.Descending
			p.compareCounts(q)
		}
	}
}

func testMessageGroups(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(append(oddMessages(), questioned()...)...)
	for _, by := range [][]engine.Field{
		{engine.FieldTemplate}, {engine.FieldSource, engine.FieldTemplate}, {engine.FieldTemplate, engine.FieldNamespace},
		{engine.FieldSubjectName, engine.FieldTemplate, engine.FieldResult},
	} {
		for _, f := range []*engine.Filter{
			nil, engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldNamespace, "a"), engine.Equal(engine.FieldSubjectKind, "Pod"),
			textual(engine.Contains, engine.FieldMessage, "web"), engine.Negate(engine.Equal(engine.FieldMessage, "{name}")),
		} {
			p.eachOrder(engine.CountQuery{By: by, Filter: f})
		}
		p.eachOrder(engine.CountQuery{By: by, Subjects: true, Namespaces: true, Times: true})
	}
	merged := p.count(engine.CountQuery{
		Kinds: questionKinds, By: []engine.Field{engine.FieldTemplate}, Filter: engine.Equal(engine.FieldNamespace, "a"), Limit: 1000,
	})
	for _, count := range merged.Counts {
		if count.Values[0] == "{name}" && count.Results == 2 {
			return // What names the resource, and what only looks like it, read the same.
		}
	}
	t.Errorf("no group of two results says {name}: %v", merged.Counts)
}

func testDayGroups(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(append(oddMessages(), questioned()...)...)
	for _, by := range [][]engine.Field{
		{engine.FieldDay}, {engine.FieldSource, engine.FieldDay}, {engine.FieldDay, engine.FieldNamespace}, {engine.FieldDay, engine.FieldSubjectName, engine.FieldTemplate},
	} {
		for _, f := range []*engine.Filter{
			nil, engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldNamespace, "b"), when(engine.GreaterThan, 0), when(engine.LessThan, -1),
			engine.Negate(when(engine.EqualTo, 0)),
		} {
			p.eachOrder(engine.CountQuery{By: by, Filter: f})
		}
		p.eachOrder(engine.CountQuery{By: by, Subjects: true, Namespaces: true, Times: true})
	}
	days := p.count(engine.CountQuery{Kinds: questionKinds, By: []engine.Field{engine.FieldDay}, Limit: 1000})
	var got []string
	for _, count := range days.Counts {
		got = append(got, count.Values[0])
	}
	want := []string{"", "0001-01-01", "1969-12-30", "1969-12-31", "1970-01-01", "1970-01-02", "2023-11-14", "9999-12-31"}
	if !slices.Equal(got, want) {
		t.Errorf("days %q, want %q", got, want)
	}
}
