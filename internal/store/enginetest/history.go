// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

var historyCases = []testCase{
	{"SnapshotAtEveryRevision", testSnapshots},
	{"SnapshotsInPages", testSnapshotPages},
	{"PagesOfASnapshotIgnoreLaterWrites", testStablePages},
	{"SnapshotsWithConditions", testSnapshotConditions},
	{"CompactedRevisionsAreRefused", testCompact},
	{"SnapshotsSurviveCompactionAboveThem", testCompactSnapshots},
	{"CompactingALot", testCompactMany},
	{"ValueOfAnEventAfterCompaction", testCompactValues},
}

// pair drives an engine and the model with the same ops.
type pair struct {
	session
	model session
}

func (target Target) pair(t testing.TB) pair {
	t.Helper()
	return pair{target.session(t), session{t, NewModel(time.Now)}}
}

// commit gives ops to both and compares the answers.
func (p pair) commit(ops ...engine.Op) {
	p.Helper()
	p.same("batch", p.session.commit(ops...), p.model.commit(ops...))
}

// compareList gives a query to both and compares the answers. More may be
// true for nothing, but not false for something.
func (p pair) compareList(q engine.Query) {
	p.Helper()
	got, want := p.list(q), p.model.list(q)
	if want.More && !got.More {
		p.Fatalf("list %+v: says that nothing more follows %q", q, keysOf(got.Rows))
	}
	got.More = want.More
	p.same(fmt.Sprintf("list %+v", q), got, want)
}

// scramble commits batches of random changes, some of which fail.
func (p pair) scramble(random *rand.Rand, batches, keys int) {
	p.Helper()
	for range batches {
		p.commit(randomBatch(random, p.model, keys)...)
	}
}

func testSnapshots(t *testing.T, target Target) {
	p := target.pair(t)
	p.scramble(rand.New(rand.NewPCG(1, 1)), 40, 12)
	for at := engine.Revision(1); at <= p.state().Revision; at++ {
		for _, prefix := range []string{"", "ns-1/"} {
			p.compareList(engine.Query{Resource: reports, Prefix: prefix, At: at, Count: true})
		}
	}
}

func testSnapshotPages(t *testing.T, target Target) {
	p := target.pair(t)
	p.scramble(rand.New(rand.NewPCG(2, 2)), 60, 20)
	last := p.state().Revision
	for at := engine.Revision(1); at <= last; at += 7 {
		for _, limit := range []int{1, 3, 50} {
			q := engine.Query{Resource: reports, At: at, Limit: limit}
			p.same(fmt.Sprintf("pages of %d at %d", limit, at), p.pages(q, false), p.model.pages(q, false))
			q.Count = true
			p.compareList(q)
		}
	}
}

func testStablePages(t *testing.T, target Target) {
	p := target.pair(t)
	random := rand.New(rand.NewPCG(3, 3))
	p.scramble(random, 30, 20)
	q := engine.Query{Resource: reports, At: p.state().Revision}
	want := p.list(q).Rows
	for i := range want {
		// An undone row does not know when it would have expired.
		want[i].ExpiresAt = 0
	}
	q.Limit = 2
	var got []engine.Row
	for {
		page := p.list(q)
		got = append(got, page.Rows...)
		if !page.More {
			break
		}
		q.After = page.Rows[len(page.Rows)-1].Key
		p.scramble(random, 3, 20)
		if page.State.Revision < q.At {
			t.Fatalf("the state of a snapshot at %d is %+v", q.At, page.State)
		}
	}
	for i := range got {
		got[i].ExpiresAt = 0
	}
	p.same("pages of one snapshot", got, want)
}

func testSnapshotConditions(t *testing.T, target Target) {
	p := target.pair(t)
	p.scramble(rand.New(rand.NewPCG(4, 4)), 60, 20)
	for at := engine.Revision(1); at <= p.state().Revision; at += 5 {
		for _, conditions := range conditionQueries {
			for _, limit := range []int{0, 2} {
				p.compareList(engine.Query{Resource: reports, At: at, Limit: limit, Conditions: conditions, Count: true})
			}
		}
	}
}

func testCompact(t *testing.T, target Target) {
	p := target.pair(t)
	p.scramble(rand.New(rand.NewPCG(5, 5)), 20, 5)
	both := func(upTo engine.Revision) {
		t.Helper()
		p.compact(upTo)
		p.model.compact(upTo)
		p.same("state", p.state(), p.model.state())
	}
	both(0)
	both(10)
	both(10)
	both(4) // A no-op: the mark never goes back.
	for _, at := range []engine.Revision{1, 2, 9} {
		_, err := p.engine.List(t.Context(), engine.Query{Resource: reports, At: at})
		p.wantClass(fmt.Sprintf("list at %d", at), err, engine.ErrCompacted)
		_, _, err = p.engine.Events(t.Context(), at, 10)
		p.wantClass(fmt.Sprintf("events after %d", at), err, engine.ErrCompacted)
	}
	p.compareList(engine.Query{Resource: reports, At: 10})
	p.compareList(engine.Query{Resource: reports})
	p.same("events", p.eventsAfter(10), p.model.eventsAfter(10))
	both(p.state().Revision)
	p.compareList(engine.Query{Resource: reports, At: p.state().Revision})
	p.same("events", p.eventsAfter(p.state().Revision), []engine.Event{})
	p.scramble(rand.New(rand.NewPCG(6, 6)), 5, 5)
	p.same("events", p.eventsAfter(p.state().Compacted), p.model.eventsAfter(p.state().Compacted))
}

func testCompactSnapshots(t *testing.T, target Target) {
	p := target.pair(t)
	p.scramble(rand.New(rand.NewPCG(7, 7)), 60, 15)
	last := p.state().Revision
	for mark := engine.Revision(1); mark <= last; mark += 11 {
		p.compact(mark)
		p.model.compact(mark)
		for at := mark; at <= last; at += 3 {
			p.compareList(engine.Query{Resource: reports, At: at})
		}
	}
}

func testCompactMany(t *testing.T, target Target) {
	s := target.session(t)
	revision := s.apply(create("a", "0")).Revision
	for range 9 {
		ops := make([]engine.Op, 500)
		for i := range ops {
			ops[i] = create(fmt.Sprintf("%d/%d", revision, i), "x")
		}
		revision = s.commit(ops...).State.Revision
	}
	s.compact(revision - 10)
	s.same("events", len(s.eventsAfter(revision-10)), 10)
	usage := s.usage()
	s.same("events that are left", usage.Events, int64(10))
	s.same("state", s.state(), engine.State{Revision: revision, Compacted: revision - 10})
}

// testCompactValues: the value of an event is kept by the next event of its key, which is newer and so outlives it.
func testCompactValues(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(create("a", "one"))
	s.apply(update("a", 2, "two"))
	s.apply(create("b", "one"))
	s.apply(update("a", 3, "three"))
	s.apply(remove("a", 5))
	s.compact(2)
	want := map[engine.Revision][2]string{3: {"two", "one"}, 4: {"one", ""}, 5: {"three", "two"}, 6: {"", "three"}}
	for _, event := range s.eventsAfter(2) {
		s.same("values", [2]string{string(event.Value.Data), string(event.Previous.Data)}, want[event.Revision])
	}
}
