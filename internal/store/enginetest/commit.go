// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

var commitCases = []testCase{
	{"EmptyDatabaseIsAtRevisionOne", testEmpty},
	{"LifeOfAnObject", testLife},
	{"CreatedIdentifiesTheObject", testRecreate},
	{"FailedConditionReturnsTheCurrentRow", testConditions},
	{"FailingNeighboursChangeNothing", testNeighbours},
	{"DuplicateKeyInABatchIsRejected", testDuplicateKey},
	{"UnknownKindIsRejected", testUnknownKind},
	{"EmptyBatchReturnsTheState", testEmptyBatch},
	{"ResourcesAreSeparate", testResources},
	{"ValuesAreKeptExactly", testValues},
	{"ArgumentsAreNotKept", testAliasing},
	{"LargeBatch", testLargeBatch},
	{"ExpiryIsStored", testExpiry},
	{"GuardIsChecked", testGuard},
	{"CancelledContextChangesNothing", testCancelled},
}

func testEmpty(t *testing.T, target Target) {
	s := target.session(t)
	if state := s.state(); state.Revision != 1 || state.Compacted != 0 || state.Incarnation == 0 {
		t.Errorf("state of an empty database is %+v", state)
	}
	if row := s.get(reports, "a"); row != nil {
		t.Errorf("an empty database has a row: %+v", row)
	}
	s.same("list", s.list(engine.Query{Resource: reports, Count: true}), engine.Page{State: engine.State{Revision: 1}})
	s.same("events", s.eventsAfter(1), []engine.Event{})
	usage := s.usage()
	if usage.DatabaseBytes <= 0 {
		t.Errorf("the database takes %d bytes", usage.DatabaseBytes)
	}
	usage.DatabaseBytes = 0
	s.same("usage", usage, engine.Usage{})
}

func testLife(t *testing.T, target Target) {
	s := target.session(t)
	batch := s.commit(create("ns/a", "one"))
	s.same("create", batch, engine.Batch{
		Outcomes: []engine.Outcome{{Revision: 2, Created: 2}}, State: engine.State{Revision: 2},
	})
	if batch.Time.IsZero() || batch.State.Incarnation == 0 {
		t.Errorf("batch without time or incarnation: %+v", batch)
	}
	s.same("row", s.get(reports, "ns/a"), &engine.Row{Key: "ns/a", Revision: 2, Created: 2, Value: value("one")})

	s.same("update", s.apply(update("ns/a", 2, "two")), engine.Outcome{Revision: 3, Created: 2})
	s.same("row", s.get(reports, "ns/a"), &engine.Row{Key: "ns/a", Revision: 3, Created: 2, Value: value("two")})

	s.same("delete", s.apply(remove("ns/a", 3)), engine.Outcome{Revision: 4, Created: 2})
	if row := s.get(reports, "ns/a"); row != nil {
		t.Errorf("a deleted row is still there: %+v", row)
	}
	if state := s.state(); state.Revision != 4 {
		t.Errorf("state is %+v after three changes", state)
	}
}

// testGuard: an op happens while another object is as it says, and not after.
func testGuard(t *testing.T, target Target) {
	s := target.session(t)
	const guards = engine.Resource("/guards/")
	guarded := func(op engine.Op, revision engine.Revision) engine.Op {
		op.Guard = &engine.Guard{Resource: guards, Key: "one", Revision: revision}
		return op
	}
	try := func(op engine.Op) engine.Outcome { return s.commit(op).Outcomes[0] }
	failed := engine.Outcome{Guarded: true}
	guard := create("one", "closed")
	guard.Resource = guards
	s.same("guard that should be there", try(guarded(create("a", "1"), 7)), failed)
	s.same("no guard", try(guarded(create("a", "1"), 0)), engine.Outcome{Revision: 2, Created: 2})
	s.same("the guard", s.apply(guard), engine.Outcome{Revision: 3, Created: 3})
	s.same("create after it", try(guarded(create("b", "1"), 0)), failed)
	s.same("update after it", try(guarded(update("a", 2, "2"), 0)), failed)
	s.same("delete after it", try(guarded(remove("a", 2), 0)), failed)
	s.same("conflict after it", try(guarded(create("a", "2"), 0)), failed)
	batch := s.commit(guarded(create("b", "1"), 3), guarded(create("c", "1"), 2), create("d", "1"))
	s.same("batch", batch.Outcomes, []engine.Outcome{{Revision: 4, Created: 4}, failed, {Revision: 5, Created: 5}})
	guard.Kind, guard.Expect = engine.Delete, 3
	s.same("the guard goes", s.apply(guard), engine.Outcome{Revision: 6, Created: 3})
	s.same("after it went", try(guarded(remove("a", 2), 3)), failed)
	s.same("no guard again", try(guarded(remove("a", 2), 0)), engine.Outcome{Revision: 7, Created: 2})
}

func testRecreate(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(create("a", "one"))
	s.apply(remove("a", 2))
	s.same("create", s.apply(create("a", "two")), engine.Outcome{Revision: 4, Created: 4})
	s.same("update", s.apply(update("a", 4, "three")), engine.Outcome{Revision: 5, Created: 4})
}

func testConditions(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(create("a", "one"))
	s.apply(update("a", 2, "two"))
	current := &engine.Row{Key: "a", Revision: 3, Created: 2, Value: value("two")}
	cases := []struct {
		name string
		op   engine.Op
		want engine.Outcome
	}{
		{"create of an existing key", create("a", "x"), engine.Outcome{Current: current}},
		{"update at an old revision", update("a", 2, "x"), engine.Outcome{Current: current}},
		{"update at a future revision", update("a", 9, "x"), engine.Outcome{Current: current}},
		{"update at no revision", update("a", 0, "x"), engine.Outcome{Current: current}},
		{"update of a missing key", update("b", 3, "x"), engine.Outcome{}},
		{"delete at an old revision", remove("a", 2), engine.Outcome{Current: current}},
		{"delete of a missing key", remove("b", 0), engine.Outcome{}},
	}
	for _, c := range cases {
		s.same(c.name, s.commit(c.op), engine.Batch{
			Outcomes: []engine.Outcome{c.want}, State: engine.State{Revision: 3},
		})
	}
	s.same("row", s.get(reports, "a"), current)
	s.same("events", len(s.eventsAfter(1)), 2)
}

func testNeighbours(t *testing.T, target Target) {
	s := target.session(t)
	s.commit(create("a", "a1"), create("b", "b1"), create("c", "c1")) // 2, 3, 4
	batch := s.commit(
		create("d", "d1"),         // 5
		create("a", "x"),          // exists
		update("b", 3, "b2"),      // 6
		update("c", 3, "x"),       // conflict
		remove("missing", 0),      // missing
		remove("c2", 4),           // missing
		update("missing2", 4, ""), // missing
		create("e", "e1"),         // 7
	)
	row := func(key string, revision engine.Revision, data string) *engine.Row {
		return &engine.Row{Key: key, Revision: revision, Created: revision, Value: value(data)}
	}
	s.same("batch", batch, engine.Batch{
		State: engine.State{Revision: 7},
		Outcomes: []engine.Outcome{
			{Revision: 5, Created: 5}, {Current: row("a", 2, "a1")}, {Revision: 6, Created: 3},
			{Current: row("c", 4, "c1")}, {}, {}, {}, {Revision: 7, Created: 7},
		},
	})
	s.same("keys", keysOf(s.list(engine.Query{Resource: reports}).Rows), []string{"a", "b", "c", "d", "e"})
	var kinds []string
	for _, event := range s.eventsAfter(4) {
		kinds = append(kinds, event.Kind.String()+" "+event.Key)
	}
	s.same("events", kinds, []string{"create d", "update b", "create e"})
	s.same("batch of failures", s.commit(create("a", "x"), remove("b", 3)).State, engine.State{Revision: 7})
}

func testDuplicateKey(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(create("a", "one"))
	for _, ops := range [][]engine.Op{
		{create("b", ""), create("c", ""), create("b", "")},
		{update("a", 2, "x"), remove("a", 2)},
		{update("a", 7, "x"), remove("a", 2)},
	} {
		if batch, err := s.engine.Commit(t.Context(), ops); err == nil {
			t.Errorf("a batch with two ops on a key was accepted: %+v", batch)
		}
	}
	s.same("state", s.state(), engine.State{Revision: 2})
	other := create("a", "")
	other.Resource = reportsX
	s.commit(update("a", 2, "two"), other)
}

func testUnknownKind(t *testing.T, target Target) {
	s := target.session(t)
	for _, kind := range []engine.OpKind{0, 4} {
		bad := create("a", "")
		bad.Kind = kind
		if _, err := s.engine.Commit(t.Context(), []engine.Op{create("b", ""), bad}); err == nil {
			t.Errorf("an op of kind %d was accepted", kind)
		}
	}
	s.same("state", s.state(), engine.State{Revision: 1})
}

func testEmptyBatch(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(create("a", ""))
	s.same("batch", s.commit(), engine.Batch{State: engine.State{Revision: 2}})
}

func testResources(t *testing.T, target Target) {
	s := target.session(t)
	in := func(resource engine.Resource, op engine.Op) engine.Op { op.Resource = resource; return op }
	s.commit(create("xa", "1"), in(reportsX, create("a", "2")), in("/other/", create("xa", "3")))
	s.same("row", s.get(reportsX, "a"), &engine.Row{Key: "a", Revision: 3, Created: 3, Value: value("2")})
	if row := s.get(reportsX, "xa"); row != nil {
		t.Errorf("a row of another resource was returned: %+v", row)
	}
	s.same("keys", keysOf(s.list(engine.Query{Resource: reports}).Rows), []string{"xa"})
	s.same("keys", keysOf(s.list(engine.Query{Resource: "/other/"}).Rows), []string{"xa"})
	s.same("keys", keysOf(s.list(engine.Query{Resource: "/nobody's/"}).Rows), []string{})
	s.same("delete", s.commit(in(reportsX, remove("xa", 2))).Outcomes, []engine.Outcome{{}})
}

func testValues(t *testing.T, target Target) {
	s := target.session(t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	values := map[string]engine.Value{
		"empty":                      {},
		"binary":                     {Data: all, Codec: 255, Size: 1<<31 - 1},
		"one zero":                   {Data: []byte{0}, Codec: 0, Size: 1},
		"large":                      {Data: bytes.Repeat(all, 8<<10), Codec: 7, Size: 5},
		strings.Repeat("k", 700):     {Data: []byte("long key"), Codec: 1, Size: 8},
		"ünï/cødé 日本 \u007f'\"%_;--": {Data: []byte("odd key"), Codec: 1, Size: 7},
	}
	revisions := map[string]engine.Revision{}
	for key, v := range values {
		revisions[key] = s.apply(engine.Op{Kind: engine.Create, Resource: reports, Key: key, Value: v}).Revision
	}
	for key, v := range values {
		s.same("row", s.get(reports, key), &engine.Row{Key: key, Revision: revisions[key], Created: revisions[key], Value: v})
	}
	for _, row := range s.list(engine.Query{Resource: reports}).Rows {
		s.same("listed", row.Value, values[row.Key])
	}
	for key := range values {
		s.apply(remove(key, revisions[key]))
	}
	for _, event := range s.eventsAfter(1) {
		if event.Kind == engine.Create {
			s.same("event", event.Value, values[event.Key])
		} else {
			s.same("event", event.Previous, values[event.Key])
			s.same("event", event.Value, engine.Value{})
		}
	}
}

func testAliasing(t *testing.T, target Target) {
	s := target.session(t)
	op := create("a", "before")
	s.apply(op)
	copy(op.Value.Data, "after!")
	row := s.get(reports, "a")
	s.same("row", string(row.Data), "before")
	copy(row.Data, "after!")
	s.same("row", string(s.get(reports, "a").Data), "before")
}

func testLargeBatch(t *testing.T, target Target) {
	s := target.session(t)
	const n = 1000
	ops := make([]engine.Op, n)
	for i := range ops {
		ops[i] = create(fmt.Sprintf("ns/%04d", i), fmt.Sprint(i))
		ops[i].Index = []engine.Term{{Name: 1, Value: int64(i % 7)}}
		ops[i].Projection = projection(i, 3)
	}
	batch := s.commit(ops...)
	for i, outcome := range batch.Outcomes {
		s.same("outcome", outcome, engine.Outcome{Revision: engine.Revision(i + 2), Created: engine.Revision(i + 2)})
	}
	rows := s.list(engine.Query{Resource: reports}).Rows
	if len(rows) != n {
		t.Fatalf("%d rows of %d", len(rows), n)
	}
	s.same("row", rows[n-1], engine.Row{Key: "ns/0999", Revision: n + 1, Created: n + 1, Value: value("999")})
	s.same("results", s.usage().Results, int64(3*n))
}

func testExpiry(t *testing.T, target Target) {
	s := target.session(t)
	const past, future = 1_000_000_000, 32_000_000_000
	for key, at := range map[string]int64{"never": 0, "past": past, "past2": past, "future": future} {
		op := create(key, key)
		op.ExpiresAt = at
		s.apply(op)
		s.same("expiry of "+key, s.get(reports, key).ExpiresAt, at)
	}
	expired := func(limit int) []string {
		t.Helper()
		rows, err := s.engine.Expired(t.Context(), limit)
		if err != nil {
			t.Fatalf("expired: %v", err)
		}
		var keys []string
		for _, row := range rows {
			keys = append(keys, row.Key)
			want := s.get(reports, row.Key)
			want.Value = engine.Value{}
			s.same("expired row", row, engine.ResourceRow{Resource: reports, Row: *want})
		}
		return keys
	}
	if keys := expired(10); len(keys) != 2 || !strings.HasPrefix(keys[0], "past") || !strings.HasPrefix(keys[1], "past") {
		t.Errorf("expired: %q", keys)
	}
	if keys := expired(1); len(keys) != 1 {
		t.Errorf("expired with limit 1: %q", keys)
	}
	s.apply(update("past", s.get(reports, "past").Revision, "no longer")) // ExpiresAt becomes 0.
	s.apply(remove("past2", s.get(reports, "past2").Revision))
	s.same("expired", expired(10), []string(nil))
}

func testCancelled(t *testing.T, target Target) {
	s := target.session(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.engine.Commit(ctx, []engine.Op{create("a", "")})
	s.wantClass("commit", err, context.Canceled)
	_, _, err = s.engine.Get(ctx, reports, "a")
	s.wantClass("get", err, context.Canceled)
	_, err = s.engine.List(ctx, engine.Query{Resource: reports})
	s.wantClass("list", err, context.Canceled)
	_, _, err = s.engine.Events(ctx, 1, 10)
	s.wantClass("events", err, context.Canceled)
	_, err = s.engine.State(ctx)
	s.wantClass("state", err, context.Canceled)
	s.same("state", s.state(), engine.State{Revision: 1})
	s.apply(create("a", "the engine still works"))
}
