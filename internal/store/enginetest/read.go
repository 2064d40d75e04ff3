// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

var readCases = []testCase{
	{"ListIsOrderedBytewise", testOrder},
	{"ListByPrefix", testPrefix},
	{"ListByPages", testPages},
	{"ListCountsTheRest", testCount},
	{"ListByConditions", testListConditions},
	{"ListByConditionsInPages", testConditionPages},
	{"UpdateReplacesTerms", testTermUpdates},
	{"FutureRevision", testFuture},
	{"Stats", testStats},
	{"Usage", testUsage},
}

func testOrder(t *testing.T, target Target) {
	s := target.session(t)
	keys := []string{"a", "a-b/x", "a/x", "a/x-y", "a/xy", "a0", "aZ", "aa", "B", "z", "é", "日本", "\U0001f4dc"}
	for _, key := range keys {
		s.apply(create(key, key))
	}
	slices.Sort(keys)
	s.same("keys", keysOf(s.list(engine.Query{Resource: reports}).Rows), keys)
}

func testPrefix(t *testing.T, target Target) {
	s := target.session(t)
	for _, key := range []string{"a", "a/1", "a/2", "a0", "a-b/1", "%/1", "_/1", "ÿ", "ÿ/1", "\U0010ffff/1", "\U0010ffff"} {
		s.apply(create(key, key))
	}
	cases := []struct {
		prefix string
		want   []string
	}{
		{"a/", []string{"a/1", "a/2"}},
		{"a", []string{"a", "a-b/1", "a/1", "a/2", "a0"}},
		{"%/", []string{"%/1"}},
		{"_", []string{"_/1"}},
		{"ÿ", []string{"ÿ", "ÿ/1"}},
		{"\U0010ffff", []string{"\U0010ffff", "\U0010ffff/1"}},
		{"b", nil},
		{"a/11", nil},
	}
	for _, c := range cases {
		page := s.list(engine.Query{Resource: reports, Prefix: c.prefix, Count: true})
		s.same("keys with prefix "+c.prefix, keysOf(page.Rows), c.want)
		s.same("rest of "+c.prefix, page.Remaining, int64(0))
	}
	s.same("after in a prefix", keysOf(s.list(engine.Query{Resource: reports, Prefix: "a/", After: "a/1"}).Rows), []string{"a/2"})
	s.same("after before the prefix",
		keysOf(s.list(engine.Query{Resource: reports, Prefix: "a/", After: "a"}).Rows), []string{"a/1", "a/2"})
	s.same("after behind the prefix", keysOf(s.list(engine.Query{Resource: reports, Prefix: "a/", After: "b"}).Rows), []string{})
}

func testPages(t *testing.T, target Target) {
	s := target.session(t)
	var keys []string
	for i := range 25 {
		key := fmt.Sprintf("ns-%d/%02d", i%3, i)
		keys = append(keys, key)
		s.apply(create(key, key))
	}
	slices.Sort(keys)
	for _, limit := range []int{1, 2, 7, 24, 25, 26} {
		q := engine.Query{Resource: reports, Limit: limit}
		s.same(fmt.Sprintf("pages of %d", limit), keysOf(s.pages(q, false)), keys)
		if limit > 1 {
			s.same(fmt.Sprintf("overlapping pages of %d", limit), keysOf(s.pages(q, true)), keys)
		}
	}
	page := s.list(engine.Query{Resource: reports, After: keys[4], Limit: 2})
	s.same("page", keysOf(page.Rows), keys[5:7])
	page = s.list(engine.Query{Resource: reports, After: keys[4], Inclusive: true, Limit: 2})
	s.same("page", keysOf(page.Rows), keys[4:6])
	page = s.list(engine.Query{Resource: reports, After: keys[4] + "\x01", Inclusive: true, Limit: 2})
	s.same("page", keysOf(page.Rows), keys[5:7])
	page = s.list(engine.Query{Resource: reports, After: keys[24]})
	s.same("page behind the end", page.Rows, []engine.Row{})
	if page.More {
		t.Error("there is no more behind the last key")
	}
}

// pages lists q page by page and checks what a page promises. With overlap each page after the first starts at its
// predecessor's last key, so that q.Limit must be above one.
func (s session) pages(q engine.Query, overlap bool) []engine.Row {
	s.Helper()
	var rows []engine.Row
	for {
		page := s.list(q)
		if q.Limit > 0 && len(page.Rows) > q.Limit {
			s.Fatalf("a page of %d rows where %d were asked for", len(page.Rows), q.Limit)
		}
		fresh := page.Rows
		if q.Inclusive && q.After != "" {
			if len(fresh) == 0 || fresh[0].Key != q.After {
				s.Fatalf("a page from %s on starts with %q", q.After, keysOf(fresh))
			}
			fresh = fresh[1:]
		}
		rows = append(rows, fresh...)
		if !page.More {
			return rows
		}
		if len(fresh) == 0 {
			s.Fatal("a page without new rows says that there is more")
		}
		q.After, q.Inclusive = fresh[len(fresh)-1].Key, overlap
	}
}

func testCount(t *testing.T, target Target) {
	s := target.session(t)
	for i := range 10 {
		op := create(fmt.Sprintf("a/%d", i), "")
		op.Index = []engine.Term{{Name: 1, Value: int64(i % 2)}}
		s.commit(op, create(fmt.Sprintf("b/%d", i), ""))
	}
	cases := []struct {
		name string
		q    engine.Query
		want int64
	}{
		{"not asked for", engine.Query{Limit: 3}, -1},
		{"everything", engine.Query{Limit: 3, Count: true}, 17},
		{"prefix", engine.Query{Prefix: "a/", Limit: 3, Count: true}, 7},
		{"after", engine.Query{Prefix: "a/", After: "a/4", Limit: 3, Count: true}, 2},
		{"no limit", engine.Query{Prefix: "a/", Count: true}, 0},
		{"at a revision", engine.Query{Limit: 3, Count: true, At: 11}, 7},
		{"without regard to conditions", engine.Query{
			Prefix: "a/", Limit: 1, Count: true, Conditions: []engine.Condition{{Name: 1, Values: []int64{1}}},
		}, 8},
	}
	for _, c := range cases {
		c.q.Resource = reports
		s.same(c.name, s.list(c.q).Remaining, c.want)
	}
}

// conditionQueries are conditions for objects with terms 1..3 of few values.
var conditionQueries = [][]engine.Condition{
	{{Name: 1, Values: []int64{1}}},
	{{Name: 1, Values: []int64{1, 2, 2, 99}}},
	{{Name: 1}},
	{{Name: 1, Values: []int64{99}}},
	{{Name: 99}},
	{{Name: 1, Values: []int64{0}}, {Name: 2, Values: []int64{-1}}},
	{{Name: 1, Values: []int64{0, 1}}, {Name: 2}, {Name: 3, Values: []int64{2, 1}}},
	{{Name: 2, Values: []int64{-1}}, {Name: 2, Values: []int64{-2}}},
	{{Name: 1, Values: []int64{1}}, {Name: 99}},
}

func testListConditions(t *testing.T, target Target) {
	s := target.session(t)
	terms := map[string][]engine.Term{}
	for i := range 30 {
		op := create(fmt.Sprintf("ns-%d/%02d", i%2, i), "")
		op.Index = []engine.Term{{Name: 1, Value: int64(i % 3)}}
		if i%4 > 0 {
			op.Index = append(op.Index, engine.Term{Name: 2, Value: -int64(i % 4)})
		}
		if i%5 == 0 { // Two values of a name, and a term twice.
			op.Index = append(op.Index, engine.Term{Name: 3, Value: 1}, engine.Term{Name: 3, Value: int64(i)}, engine.Term{Name: 3, Value: 1})
		}
		terms[op.Key] = op.Index
		s.apply(op)
		op.Resource, op.Index = reportsX, []engine.Term{{Name: 1, Value: 1}}
		s.apply(op)
	}
	for _, conditions := range conditionQueries {
		for _, prefix := range []string{"", "ns-1/"} {
			var want []string
			for key, index := range terms {
				if Matches(index, conditions) && (prefix == "" || key[:len(prefix)] == prefix) {
					want = append(want, key)
				}
			}
			slices.Sort(want)
			q := engine.Query{Resource: reports, Prefix: prefix, Conditions: conditions}
			s.same(fmt.Sprintf("%+v", q), keysOf(s.list(q).Rows), want)
		}
	}
}

func testConditionPages(t *testing.T, target Target) {
	s := target.session(t)
	var want []string
	for i := range 40 {
		op := create(fmt.Sprintf("ns/%02d", i), "")
		op.Index = []engine.Term{{Name: 1, Value: int64(i % 3)}, {Name: 2, Value: int64(i % 2)}}
		s.apply(op)
		if i%3 == 1 {
			want = append(want, op.Key)
		}
	}
	for _, limit := range []int{1, 3, 13, 14} {
		q := engine.Query{Resource: reports, Limit: limit, Conditions: []engine.Condition{{Name: 1, Values: []int64{1}}}}
		s.same("pages", keysOf(s.pages(q, false)), want)
		if limit > 1 {
			s.same("overlapping pages", keysOf(s.pages(q, true)), want)
		}
	}
}

func testTermUpdates(t *testing.T, target Target) {
	s := target.session(t)
	find := func(value int64) []string {
		t.Helper()
		return keysOf(s.list(engine.Query{Resource: reports, Conditions: []engine.Condition{{Name: 1, Values: []int64{value}}}}).Rows)
	}
	op := create("a", "")
	op.Index = []engine.Term{{Name: 1, Value: 1}, {Name: 1, Value: 2}}
	s.apply(op)
	op = update("a", 2, "kept")
	op.KeepDerived = true
	s.apply(op)
	s.same("after an update that keeps them", find(1), []string{"a"})
	op = update("a", 3, "changed")
	op.Index = []engine.Term{{Name: 1, Value: 2}, {Name: 1, Value: 3}}
	s.apply(op)
	for value, want := range map[int64][]string{1: nil, 2: {"a"}, 3: {"a"}} {
		s.same("after an update that changes them", find(value), want)
	}
	failed := update("a", 3, "conflict")
	failed.Index = []engine.Term{{Name: 1, Value: 4}}
	s.commit(failed)
	s.same("after an update that fails", find(4), []string{})
	s.apply(remove("a", 4))
	s.apply(create("a", "again"))
	for value := range int64(4) {
		s.same("after a delete", find(value), []string{})
	}
}

func testFuture(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(create("a", ""))
	_, err := s.engine.List(t.Context(), engine.Query{Resource: reports, At: 3})
	s.wantClass("list at a future revision", err, engine.ErrFuture)
	s.same("list at the present revision", keysOf(s.list(engine.Query{Resource: reports, At: 2}).Rows), []string{"a"})
	s.same("events above the present revision", s.events(7, 10), []engine.Event{})
	if err := s.engine.Compact(t.Context(), 3); err == nil {
		t.Error("compact above the present revision was accepted")
	}
	s.same("state", s.state(), engine.State{Revision: 2})
}

func testStats(t *testing.T, target Target) {
	s := target.session(t)
	want := func(objects, bytes int64) {
		t.Helper()
		stats, err := s.engine.Stats(t.Context(), reports)
		if err != nil {
			t.Fatalf("stats: %v", err)
		}
		s.same("stats", stats, engine.Stats{Objects: objects, Bytes: bytes})
	}
	want(0, 0)
	other := create("c", "12345678")
	other.Resource = reportsX
	s.commit(create("a", "1"), create("b", "123"), other)
	want(2, 12)
	s.commit(update("a", 2, "12345"), create("b", "exists"))
	want(2, 24)
	s.apply(remove("b", 3))
	want(1, 15)
	s.apply(remove("a", 5))
	want(0, 0)
}

func testUsage(t *testing.T, target Target) {
	s := target.session(t)
	op := create("a", "12345")
	op.Projection = projection(0, 4)
	first := s.commit(op)
	s.apply(update("a", 2, "1234567"))
	other := create("b", "")
	other.Projection = projection(1, 3)
	s.apply(other)
	s.apply(remove("a", 3))
	usage := s.usage()
	if !usage.Oldest.Equal(first.Time) {
		t.Errorf("oldest event is of %v, want %v", usage.Oldest, first.Time)
	}
	s.same("usage", [...]int64{usage.Events, usage.HistoryBytes, usage.Results}, [...]int64{4, 4*(engine.EventOverhead+1) + 12, 3})
	s.compact(3)
	usage = s.usage()
	s.same("usage after compaction", [...]int64{usage.Events, usage.HistoryBytes, usage.Results}, [...]int64{2, 2*(engine.EventOverhead+1) + 7, 3})
}
