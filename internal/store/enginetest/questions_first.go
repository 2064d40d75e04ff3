// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// orderCases ask for the first results in an order.
var orderCases = []testCase{
	{"Orders", testOrders},
	{"OrderedPlaces", testOrderedPlaces},
	{"OrderedManyReports", testOrderedManyReports},
	{"OrderAfterChanges", testOrderAfterChanges},
	{"LargeReportsInOrder", testLargeReportsInOrder},
	{"OddPlaces", testOddPlaces},
	{"RefusedOrders", testRefusedOrders},
}

// compareFirst asks both for the first rows in an order.
func (p pair) compareFirst(q engine.OrderQuery) engine.RowPage {
	p.Helper()
	got, want := p.first(q), p.model.first(q)
	p.same(fmt.Sprintf("first %d by %s of %s, descending %t, after %+v", q.Limit, q.OrderBy, describe(q.Filter), q.Descending, q.After), got, want)
	return got
}

func (s session) first(q engine.OrderQuery) engine.RowPage {
	s.Helper()
	page, err := s.engine.First(s.Context(), q)
	if err != nil {
		s.Fatalf("first by %s of %s: %v", q.OrderBy, describe(q.Filter), err)
	}
	return page
}

// walkOrder reads all pages, compares each with the model's, and all together with one page of everything.
func (p pair) walkOrder(q engine.OrderQuery) {
	p.Helper()
	whole := q
	whole.Limit = engine.MaxOrdered
	want := len(p.model.first(whole).Rows)
	defer func() {
		if want != 0 && !p.Failed() {
			p.Errorf("by %s of %s in pages of %d: %d rows are missing", q.OrderBy, describe(q.Filter), q.Limit, want)
		}
	}()
	for more := true; more; {
		page := p.compareFirst(q)
		want -= len(page.Rows)
		if more = page.More; more {
			place := orderPlaceOf(&q, page.Rows[len(page.Rows)-1])
			q.After = &place
		}
	}
}

// walkOrders does that for each order and direction.
func (p pair) walkOrders(q engine.OrderQuery) {
	p.Helper()
	for _, field := range engine.Orders() {
		for _, descending := range []bool{false, true} {
			q.OrderBy, q.Descending = field, descending
			p.walkOrder(q)
		}
	}
}

// ranked are results with all severities, unknown ones among them, and with equal and unequal times.
func ranked() engine.Op {
	p := &engine.Projection{Namespace: "b", Name: "ranked", UID: "9", Kind: "PolicyReport"}
	for i, severity := range []string{"info", "", "critical", "moderate", "medium", "high", "low", "Critical", "high", "critical"} {
		verdict := &engine.Verdict{Policy: fmt.Sprint("p", i%4), Severity: severity, Result: "fail", Category: fmt.Sprint(i % 3)}
		p.Results = append(p.Results, engine.Result{Index: int32(i), Verdict: verdict, Seconds: int64(i%3) * 100})
	}
	return keyed(p)
}

func testOrders(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(append(questioned(), ranked())...)
	for _, f := range []*engine.Filter{
		nil, engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectKind, "Pod"), when(engine.GreaterThan, 100), engine.Negate(nil),
		textual(engine.Contains, engine.FieldMessage, "web"), engine.Equal(engine.FieldReport, "r1"),
	} {
		for _, limit := range []int{1, engine.MaxOrdered} {
			p.walkOrders(engine.OrderQuery{Kinds: questionKinds, Filter: f, Limit: limit})
		}
	}
}

func testOrderedPlaces(t *testing.T, target Target) {
	p := target.pair(t)
	ops := append(questioned(), ranked())
	p.commit(ops...)
	for _, kinds := range [][]engine.ReportKind{questionKinds, questionKinds[1:], {{Kind: "None", Resource: "/nobody's/"}}} {
		for _, namespace := range append(valuesOf(ops, engine.FieldNamespace), "'", "\x00") {
			p.walkOrders(engine.OrderQuery{Kinds: kinds, Namespace: &namespace, Limit: 4})
		}
	}
}

// testOrderedManyReports: enough that the ways of a few are not taken, and that rows are dropped again.
func testOrderedManyReports(t *testing.T, target Target) {
	p := target.pair(t)
	random := rand.New(rand.NewPCG(5, 5))
	for i := 0; i < 1000; {
		var ops []engine.Op
		for range 250 {
			one := about(projection(i%6, 3+i%4), questionKinds[i%2].Resource, fmt.Sprintf("ns-%02d/r-%04d", i*30/1000, i))
			for j := range one.Results {
				one.Results[j].Seconds = random.Int64N(500)
			}
			ops = append(ops, keyed(one))
			i++
		}
		p.commit(ops...)
	}
	namespace := "ns-17"
	// Each order and direction with one of the filters: smaller tests have all with all.
	filters := []*engine.Filter{nil, engine.Equal(engine.FieldResult, "pass"), engine.Equal(engine.FieldSubjectName, "pod-1")}
	for i := range 2 * len(engine.Orders()) {
		q := engine.OrderQuery{Kinds: questionKinds, Filter: filters[i%len(filters)], OrderBy: engine.Orders()[i/2], Descending: i%2 > 0, Limit: 7}
		page := p.compareFirst(q)
		place := orderPlaceOf(&q, page.Rows[len(page.Rows)-1])
		q.After, q.Limit = &place, 900
		p.compareFirst(q)
		q.After, q.Namespace = nil, &namespace
		p.compareFirst(q)
	}
}

func testOrderAfterChanges(t *testing.T, target Target) {
	p := target.pair(t)
	random := rand.New(rand.NewPCG(4, 4))
	orders := engine.Orders()
	for range 40 {
		p.scramble(random, 1, 12)
		for range 3 {
			p.walkOrder(engine.OrderQuery{
				Kinds: questionKinds, Filter: randomFilter(random, 3), OrderBy: orders[random.IntN(len(orders))],
				Descending: random.IntN(2) == 0, Limit: 1 + random.IntN(12),
			})
		}
	}
}

// testLargeReportsInOrder: questions see no rows of large reports that are not committed yet, or not any more.
func testLargeReportsInOrder(t *testing.T, target Target) {
	p := target.pair(t)
	large := about(projection(1, 3000), reports, "ns/large")
	ask := func() {
		t.Helper()
		p.compareFirst(engine.OrderQuery{Kinds: questionKinds, OrderBy: engine.FieldPolicy, Descending: true, Limit: 40})
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
	p.commit(remove("ns/large", p.model.get(reports, "ns/large").Revision))
	ask()
}

// testOddPlaces: continuing behind a missing row means continuing where it would be.
func testOddPlaces(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(append(questioned(), ranked())...)
	for _, field := range engine.Orders() {
		for _, descending := range []bool{false, true} {
			q := engine.OrderQuery{Kinds: questionKinds, OrderBy: field, Descending: descending, Limit: engine.MaxOrdered}
			all := p.compareFirst(q).Rows
			for _, text := range []string{"", "'", "high", "info", "nobody", "\U0010FFFF"} {
				for _, seconds := range []int64{-7, 0, 150, 1 << 60} {
					after := engine.OrderPlace{Seconds: seconds, Report: engine.ReportPlace{Namespace: "b", Kind: "Report", Name: "q"}, Index: 1, SubjectID: -3}
					if field != engine.FieldSeconds {
						after.Text = text
					}
					behind := 0
					for behind < len(all) {
						if place := orderPlaceOf(&q, all[behind]); q.Compare(&place, &after) > 0 {
							break
						}
						behind++
					}
					q.After = &after
					got, err := p.engine.First(t.Context(), q)
					if err != nil {
						t.Fatalf("first by %s: %v", field, err)
					}
					p.same(fmt.Sprintf("first by %s after %+v", field, after), append(all[:0:0], got.Rows...), append(all[:0:0], all[behind:]...))
				}
			}
		}
	}
}

func testRefusedOrders(t *testing.T, target Target) {
	s := target.session(t)
	s.commit(questioned()...)
	for name, q := range map[string]engine.OrderQuery{
		"no limit":    {Kinds: questionKinds, OrderBy: engine.FieldSeconds},
		"large limit": {Kinds: questionKinds, OrderBy: engine.FieldSeconds, Limit: engine.MaxOrdered + 1},
		"no order":    {Kinds: questionKinds, Limit: 1},
		"message":     {Kinds: questionKinds, OrderBy: engine.FieldMessage, Limit: 1},
		"no kind":     {OrderBy: engine.FieldSeconds, Limit: 1},
		"filter":      {Kinds: questionKinds, OrderBy: engine.FieldSeconds, Limit: 1, Filter: engine.Equal("colour", "red")},
		"not UTF-8":   {Kinds: questionKinds, OrderBy: engine.FieldPolicy, Limit: 1, After: &engine.OrderPlace{Text: "\xff"}},
		"zero byte":   {Kinds: questionKinds, OrderBy: engine.FieldPolicy, Limit: 1, After: &engine.OrderPlace{Report: engine.ReportPlace{Name: "\x00"}}},
	} {
		if _, err := s.engine.First(t.Context(), q); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	q := engine.OrderQuery{Kinds: questionKinds, OrderBy: engine.FieldSeconds, Limit: 1}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.engine.First(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: got %v", err)
	}
	if err := s.engine.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.engine.First(t.Context(), q)
	s.wantClass("first rows of a closed engine", err, engine.ErrClosed)
}
