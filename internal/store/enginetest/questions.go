// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// questionCases ask about results. The model answers the same questions.
var questionCases = []testCase{
	{"FilterOnEachField", testFilters},
	{"CombinedFilters", testCombinedFilters},
	{"OddValues", testOddValues},
	{"Pages", testQuestionPages},
	{"PlacesAndKinds", testQuestionPlaces},
	{"About", testRowsAbout},
	{"Counts", testCounts},
	{"LargeReports", testLargeQuestions},
	{"TwoClusters", testQuestionsOfTwoClusters},
	{"AfterChanges", testQuestionsAfterChanges},
	{"ManyReports", testManyReports},
	{"RefusedQuestions", testRefusedQuestions},
	{"EndedContext", testEndedQuestions},
}

func testFilters(t *testing.T, target Target) {
	p := target.pair(t)
	ops := questioned()
	p.commit(ops...)
	p.ask(nil)
	for _, field := range engine.Fields() {
		if field.IsNumber() {
			continue
		}
		values := valuesOf(ops, field)
		for _, value := range append(values, "no such value") {
			for _, f := range []*engine.Filter{
				engine.Equal(field, value), engine.Negate(engine.Equal(field, value)), textual(engine.StartsWith, field, value),
				textual(engine.EndsWith, field, value), textual(engine.Contains, field, value),
			} {
				p.ask(f)
			}
			if runes := []rune(value); len(runes) > 2 {
				n := len(runes)
				p.ask(textual(engine.StartsWith, field, string(runes[:n-1])))
				p.ask(textual(engine.EndsWith, field, string(runes[1:])))
				p.ask(textual(engine.Contains, field, string(runes[1:n-1])))
				p.ask(textual(engine.StartsWith, field, string(runes[1:])))
				p.ask(textual(engine.EndsWith, field, string(runes[:n-1])))
				p.ask(engine.Equal(field, strings.ToUpper(value)))
			}
		}
		p.ask(engine.OneOf(field, values...))
		p.ask(engine.OneOf(field))
		p.ask(engine.Negate(engine.OneOf(field)))
	}
	for _, operator := range []engine.Operator{engine.LessThan, engine.GreaterThan, engine.EqualTo} {
		for _, number := range []int64{-6, -5, 0, 1, 100, 200, 401, 1 << 60} {
			p.ask(when(operator, number))
			p.ask(engine.Negate(when(operator, number)))
			created := &engine.Filter{Operator: operator, Field: engine.FieldCreated, Number: number}
			p.ask(created)
			p.ask(either(engine.Negate(created), engine.Equal(engine.FieldResult, "fail")))
		}
	}
}

func testCombinedFilters(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(questioned()...)
	fails, pods := engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectKind, "Pod")
	in, nowhere := engine.Equal(engine.FieldNamespace, "b"), engine.Equal(engine.FieldSubjectName, "")
	for _, f := range []*engine.Filter{
		{Operator: engine.All}, {Operator: engine.Any}, engine.Negate(nil), engine.Negate(engine.Negate(nil)),
		engine.Both(fails, pods), either(fails, pods), either(fails, in), engine.Both(fails, in), either(in, pods),
		engine.Negate(engine.Both(fails, pods)), engine.Negate(either(fails, pods)), engine.Both(in, either(pods, fails)),
		engine.Both(fails, nowhere), either(fails, nowhere), engine.Both(nowhere, in), engine.Both(in, engine.Negate(in)),
		engine.Both(fails, engine.Both(pods, in), when(engine.GreaterThan, 150)), either(when(engine.GreaterThan, 150), pods),
		engine.Both(textual(engine.Contains, engine.FieldMessage, "web"), pods), engine.Both(textual(engine.Contains, engine.FieldMessage, "bad"), fails),
		either(textual(engine.Contains, engine.FieldMessage, "web"), fails), engine.Negate(textual(engine.Contains, engine.FieldMessage, "web-1")),
		engine.Both(engine.Equal(engine.FieldReport, "r1"), fails), either(engine.Equal(engine.FieldReport, "r1"), fails),
		engine.Both(engine.OneOf(engine.FieldReport, "r10", "r1", "r1"), in), engine.Both(engine.Equal(engine.FieldReportUID, "2"), fails),
		engine.Both(engine.Equal(engine.FieldReport, "r1"), engine.Equal(engine.FieldReport, "r10")),
		either(engine.Both(in, fails), engine.Both(pods, engine.Negate(in))),
	} {
		p.ask(f)
	}
}

// testOddValues: what people write is a value, whatever it contains.
func testOddValues(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(questioned()...)
	fields := []engine.Field{engine.FieldNamespace, engine.FieldPolicy, engine.FieldMessage, engine.FieldReport, engine.FieldSubjectName}
	for _, odd := range []string{"", "'", "' OR 1 = 1 --", "%", "_", "?1", "$1", "@cluster", "\\", "\x00", "web-1\x00", "\x01", "é", "𝒳", `"`} {
		for i, field := range fields {
			for j, f := range []*engine.Filter{
				engine.OneOf(field, odd, "nothing"), engine.Negate(engine.Equal(field, odd)), textual(engine.StartsWith, field, odd),
				textual(engine.EndsWith, field, odd), textual(engine.Contains, field, odd),
			} {
				p.compareRows(engine.RowQuery{Kinds: questionKinds, Filter: f, Limit: 1000})
				if i == j {
					p.ask(f)
				}
			}
		}
		p.compareRows(engine.RowQuery{Kinds: questionKinds, Namespace: &odd, Limit: 10})
		p.compareCounts(engine.CountQuery{Kinds: questionKinds, Namespace: &odd, Limit: 10, By: []engine.Field{engine.FieldPolicy}})
		p.compareCounts(engine.CountQuery{Kinds: questionKinds, Namespace: &odd, Limit: 10, By: []engine.Field{engine.FieldSubjectKind}})
		p.compareRows(engine.RowQuery{Kinds: questionKinds, After: engine.ReportPlace{Namespace: "b", Kind: "PolicyReport", Name: odd}, Limit: 10})
		p.compareRows(engine.RowQuery{Kinds: questionKinds, After: engine.ReportPlace{Namespace: odd, Kind: odd, Name: odd}, Limit: 10})
	}
}

// walk reads all pages and compares each with the model's.
func (p pair) walk(q engine.RowQuery) {
	p.Helper()
	for {
		p.compareRows(q)
		page := p.model.rows(q)
		if len(page.Rows) == 0 {
			return
		}
		q.After, q.Inclusive = page.Rows[len(page.Rows)-1].Report.ReportPlace, false
	}
}

func testQuestionPages(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(questioned()...)
	for seed := range 40 {
		op := keyed(about(projection(seed, seed%7), questionKinds[seed%2].Resource, fmt.Sprintf("ns-%d/r-%d", seed%5, seed)))
		p.commit(op)
	}
	filters := []*engine.Filter{
		nil, engine.Equal(engine.FieldResult, "pass"), engine.Equal(engine.FieldPolicy, "policy-3"), engine.Equal(engine.FieldSubjectKind, "Pod"),
		engine.Equal(engine.FieldSubjectName, "pod-1"), engine.Equal(engine.FieldReport, "r1"), when(engine.GreaterThan, 0),
		engine.Negate(engine.Equal(engine.FieldSubjectKind, "Pod")), textual(engine.Contains, engine.FieldMessage, "fine"),
	}
	for _, f := range filters {
		for _, limit := range []int{1, 3, 10, 1000} {
			p.walk(engine.RowQuery{Kinds: questionKinds, Filter: f, Limit: limit})
		}
	}
	var places []engine.ReportPlace
	for _, row := range p.model.rows(engine.RowQuery{Kinds: questionKinds, Limit: 1000}).Rows {
		places = append(places, row.Report.ReportPlace,
			engine.ReportPlace{Namespace: row.Report.Namespace}, engine.ReportPlace{Namespace: row.Report.Namespace, Kind: row.Report.Kind},
			engine.ReportPlace{Namespace: row.Report.Namespace, Kind: row.Report.Kind, Name: row.Report.Name + "0"})
	}
	namespace := "b"
	for i, place := range slices.Compact(places) {
		for j, inclusive := range []bool{true, false} {
			// Places are near each other, so that every filter meets many of them all the same.
			for _, f := range []*engine.Filter{filters[(i+j)%6], filters[(i+j+3)%6]} {
				q := engine.RowQuery{Kinds: questionKinds, Filter: f, After: place, Inclusive: inclusive, Limit: 4}
				p.compareRows(q)
				q.Namespace = &namespace
				p.compareRows(q)
			}
		}
	}
}

func testQuestionPlaces(t *testing.T, target Target) {
	p := target.pair(t)
	ops := questioned()
	p.commit(ops...)
	for _, kinds := range [][]engine.ReportKind{questionKinds, questionKinds[:1], questionKinds[1:], {{Kind: "None", Resource: "/nobody's/"}}} {
		for _, namespace := range append(valuesOf(ops, engine.FieldNamespace), "nobody") {
			for _, f := range []*engine.Filter{nil, engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectName, "Web"), engine.Equal(engine.FieldSubjectName, "")} {
				p.compareRows(engine.RowQuery{Kinds: kinds, Namespace: &namespace, Filter: f, Limit: 3})
				p.compareCounts(engine.CountQuery{Kinds: kinds, Namespace: &namespace, Filter: f, Limit: 10})
				p.compareCounts(engine.CountQuery{Kinds: kinds, Namespace: &namespace, Filter: f, Limit: 10, By: []engine.Field{engine.FieldSubjectName}})
				p.compareCounts(engine.CountQuery{Kinds: kinds, Filter: f, Limit: 10, By: []engine.Field{engine.FieldReportKind, engine.FieldNamespace}})
				p.compareCounts(engine.CountQuery{Kinds: kinds, Filter: f, Limit: 10, By: []engine.Field{engine.FieldReportKind}, Subjects: true})
			}
		}
	}
}

func testRowsAbout(t *testing.T, target Target) {
	p := target.pair(t)
	ops := questioned()
	p.commit(ops...)
	subjects := []*engine.Subject{{Kind: "Nobody"}, {}}
	for _, op := range ops {
		for _, row := range selectRows(op.Projection, nil) {
			if row.Subject != nil {
				subjects = append(subjects, row.Subject)
			}
		}
	}
	for _, subject := range subjects {
		for _, namespace := range append(valuesOf(ops, engine.FieldNamespace), "nobody", "'") {
			for _, kinds := range [][]engine.ReportKind{questionKinds, questionKinds[1:]} {
				got, err := p.engine.RowsAbout(t.Context(), namespace, kinds, subject.ID())
				if err != nil {
					t.Fatalf("rows about %v: %v", subject, err)
				}
				want, _ := p.model.engine.RowsAbout(t.Context(), namespace, kinds, subject.ID())
				p.same(fmt.Sprintf("rows about %v in %s", subject, namespace), got, want)
			}
		}
	}
}

func testCounts(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(questioned()...)
	var by [][]engine.Field
	for _, field := range groupable() {
		by = append(by, []engine.Field{field}, []engine.Field{engine.FieldResult, field}, []engine.Field{field, engine.FieldSubjectName, engine.FieldReport})
	}
	for _, fields := range by {
		if len(slices.Compact(slices.Sorted(slices.Values(fields)))) < len(fields) {
			continue
		}
		for _, f := range []*engine.Filter{nil, engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectKind, "Pod"), when(engine.GreaterThan, 100)} {
			q := engine.CountQuery{Kinds: questionKinds, By: fields, Filter: f, Limit: 100}
			p.compareCounts(q)
			q.Namespaces = true
			p.compareCounts(q)
			q.Subjects, q.Times = true, true
			for _, order := range append(fields, "", engine.OrderResults, engine.OrderSubjects, engine.OrderNamespaces, engine.OrderOldest, engine.OrderNewest) {
				q.OrderBy = order
				q.Descending = !q.Descending
				q.Limit = q.Limit%5 + 2
				p.compareCounts(q)
			}
		}
	}
}

// testLargeQuestions: questions see no rows of large reports that are not committed yet, or not any more.
func testLargeQuestions(t *testing.T, target Target) {
	p := target.pair(t)
	large := about(projection(1, 3000), reports, "ns/large")
	ask := func() {
		t.Helper()
		for _, f := range []*engine.Filter{nil, engine.Equal(engine.FieldPolicy, "policy-3"), engine.Equal(engine.FieldSubjectName, "pod-7"), engine.Equal(engine.FieldSource, "kyverno")} {
			p.compareRows(engine.RowQuery{Kinds: questionKinds, Filter: f, Limit: 100})
			p.compareCounts(engine.CountQuery{Kinds: questionKinds, Filter: f, By: []engine.Field{engine.FieldPolicy}, Limit: 10})
			p.compareCounts(engine.CountQuery{Kinds: questionKinds, Filter: f, By: []engine.Field{engine.FieldSubjectKind}, Subjects: true, Limit: 10})
		}
	}
	op := keyed(large)
	release, err := p.engine.Prepare(t.Context(), &op)
	if err != nil {
		t.Fatalf("prepare: %v", err)
	}
	ask()
	release()
	p.commit(keyed(large))
	ask()
	revision := p.model.get(reports, "ns/large").Revision
	changed := about(projection(2, 3001), reports, "ns/large")
	p.commit(engine.Op{Kind: engine.Update, Resource: reports, Key: "ns/large", Expect: revision, Value: value("{}"), Projection: changed})
	ask()
	p.commit(remove("ns/large", revision+1))
	ask()
}

// testQuestionsAfterChanges compares after each change, with what is counted where it was written and where it is moved
// to.
func testQuestionsAfterChanges(t *testing.T, target Target) {
	p := target.pair(t)
	random := rand.New(rand.NewPCG(3, 3))
	for step := range 60 {
		p.scramble(random, 1, 12)
		if step%7 == 0 {
			p.session.tally()
		}
		for range 4 {
			p.question(random)
		}
	}
}

// testManyReports: enough that the ways of a few are not taken.
func testManyReports(t *testing.T, target Target) {
	p := target.pair(t)
	for i := 0; i < 1000; {
		var ops []engine.Op
		for range 250 {
			one := about(projection(i%6, 3+i%4), questionKinds[i%2].Resource, fmt.Sprintf("ns-%02d/r-%04d", i*30/1000, i))
			if i == 700 {
				one.Results[0].Verdict = &engine.Verdict{Policy: "rare", Message: "rare"}
			}
			ops = append(ops, keyed(one))
			i++
		}
		p.commit(ops...)
	}
	for _, f := range []*engine.Filter{
		nil, engine.Equal(engine.FieldResult, "pass"), engine.Equal(engine.FieldPolicy, "policy-3"), engine.Equal(engine.FieldPolicy, "rare"),
		engine.Equal(engine.FieldSubjectKind, "Pod"), engine.Equal(engine.FieldSubjectName, "pod-1"), textual(engine.Contains, engine.FieldMessage, "fine"),
		when(engine.GreaterThan, 7), engine.Equal(engine.FieldMessage, "rare"), engine.Equal(engine.FieldNamespace, "ns-17"), engine.Equal(engine.FieldReport, "r-0500"),
		engine.Both(engine.Equal(engine.FieldPolicy, "policy-3"), engine.Equal(engine.FieldSubjectName, "pod-1")),
	} {
		for _, limit := range []int{1, 3000} {
			p.walk(engine.RowQuery{Kinds: questionKinds, Filter: f, Limit: limit + 300})
			p.compareRows(engine.RowQuery{Kinds: questionKinds, Filter: f, Limit: limit, After: engine.ReportPlace{Namespace: "ns-17", Kind: "PolicyReport", Name: "r-0580"}})
		}
		p.compareCounts(engine.CountQuery{Kinds: questionKinds, Filter: f, Limit: 100, By: []engine.Field{engine.FieldNamespace, engine.FieldSubjectKind}, Subjects: true, Times: true})
		p.compareCounts(engine.CountQuery{Kinds: questionKinds, Filter: f, Limit: 20, By: []engine.Field{engine.FieldReport}, OrderBy: engine.OrderResults, Descending: true})
	}
}

func testRefusedQuestions(t *testing.T, target Target) {
	e := target.open(t)
	for name, q := range map[string]engine.RowQuery{
		"no limit":  {Kinds: questionKinds},
		"no kind":   {Limit: 1},
		"filter":    {Kinds: questionKinds, Limit: 1, Filter: engine.Equal("colour", "red")},
		"not UTF-8": {Kinds: questionKinds, Limit: 1, After: engine.ReportPlace{Name: "\xff"}},
		"property":  {Kinds: questionKinds, Limit: 1, Filter: engine.Equal(engine.Property(`a"`), "")},
		"odd value": {Kinds: questionKinds, Limit: 1, Filter: engine.Equal(engine.FieldPolicy, "\xff")},
	} {
		if _, err := e.Rows(t.Context(), q); err == nil {
			t.Errorf("rows: %s: no error", name)
		}
	}
	for name, q := range map[string]engine.CountQuery{
		"no limit": {Kinds: questionKinds},
		"message":  {Kinds: questionKinds, Limit: 1, By: []engine.Field{engine.FieldMessage}},
		"property": {Kinds: questionKinds, Limit: 1, By: []engine.Field{engine.Property(`"a`)}},
		"twice":    {Kinds: questionKinds, Limit: 1, By: []engine.Field{engine.FieldRule, engine.FieldRule}},
		"order":    {Kinds: questionKinds, Limit: 1, OrderBy: engine.FieldPolicy},
		"bound":    {Kinds: questionKinds, Limit: 1, Having: []engine.Bound{{Of: engine.OrderSources, Operator: engine.EqualTo}}},
		"operator": {Kinds: questionKinds, Limit: 1, Having: []engine.Bound{{Of: engine.OrderResults, Operator: "= 0 OR 1 ="}}},
	} {
		if _, err := e.Count(t.Context(), q); err == nil {
			t.Errorf("counts: %s: no error", name)
		}
	}
}

func testEndedQuestions(t *testing.T, target Target) {
	s := target.session(t)
	s.commit(questioned()...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := engine.RowQuery{Kinds: questionKinds, Limit: 1}
	if _, err := s.engine.Rows(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("rows: got %v", err)
	}
	if _, err := s.engine.Count(ctx, engine.CountQuery{Kinds: questionKinds, Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("count: got %v", err)
	}
	if err := s.engine.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.engine.Rows(t.Context(), q)
	s.wantClass("rows of a closed engine", err, engine.ErrClosed)
	_, err = s.engine.RowsAbout(t.Context(), "b", questionKinds, 1)
	s.wantClass("rows about a subject of a closed engine", err, engine.ErrClosed)
}
