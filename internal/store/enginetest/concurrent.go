// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

var concurrentCases = []testCase{
	{"CommittersAndReadersOfEvents", testConcurrent},
	{"ListThenEventsHasNoGap", testListThenEvents},
	{"FirstObjectOfAResource", testFirstObject},
	{"OneOfManyWins", testRace},
	{"SeveralEnginesOnOneDatabase", testShared},
	{"CompactionUnderLoad", testCompactUnderLoad},
	{"CloseUnderLoad", testCloseUnderLoad},
}

// together runs functions at once and returns when all have ended. The first
// error ends the context of the others and fails the test.
func together(t testing.TB, functions ...func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var group sync.WaitGroup
	for _, f := range functions {
		group.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil && t.Context().Err() == nil {
		t.Fatal(err)
	}
}

// committer creates n objects under a name, in batches of different sizes.
func committer(e engine.Engine, name string, n int) func(context.Context) error {
	return func(ctx context.Context) error {
		for i := 0; i < n; {
			var ops []engine.Op
			for size := 1 + i%5; size > 0 && i < n; size-- {
				op := create(fmt.Sprintf("%s/%04d", name, i), name)
				op.Index = []engine.Term{{Name: 1, Value: int64(i % 3)}}
				op.Projection = projection(i, 2)
				ops = append(ops, op)
				i++
			}
			batch, err := Commit(ctx, e, ops)
			if err != nil {
				return fmt.Errorf("commit: %w", err)
			}
			last := batch.Outcomes[len(ops)-1].Revision
			if batch.State.Revision != last || last-batch.Outcomes[0].Revision != engine.Revision(len(ops)-1) {
				return fmt.Errorf("revisions of a batch are not consecutive: %+v", batch)
			}
		}
		return nil
	}
}

// follower reads events until it has seen revision last, each once and in order.
func follower(e engine.Engine, last engine.Revision) func(context.Context) error {
	return func(ctx context.Context) error {
		for after := engine.Revision(1); after < last; {
			events, state, err := e.Events(ctx, after, 50)
			if err != nil {
				return fmt.Errorf("events: %w", err)
			}
			for _, event := range events {
				if event.Revision != after+1 {
					return fmt.Errorf("event %d came where %d was due", event.Revision, after+1)
				}
				after++
				if len(event.Value.Data) == 0 {
					return fmt.Errorf("event %d has no value", event.Revision)
				}
			}
			if after > state.Revision || len(events) == 0 && after < state.Revision {
				return fmt.Errorf("%d events up to %d in a snapshot at %d", len(events), after, state.Revision)
			}
		}
		return nil
	}
}

func testConcurrent(t *testing.T, target Target) {
	s := target.session(t)
	const writers, each = 4, 60
	var all []func(context.Context) error
	for i := range writers {
		all = append(all, committer(s.engine, fmt.Sprint(i), each), follower(s.engine, 1+writers*each))
	}
	together(t, all...)
	s.same("keys", len(s.list(engine.Query{Resource: reports}).Rows), writers*each)
}

// lister lists and then follows, again and again: rows and events together must be every object, none twice.
func lister(e engine.Engine, last engine.Revision) func(context.Context) error {
	return func(ctx context.Context) error {
		for done := false; !done; {
			page, err := e.List(ctx, engine.Query{Resource: reports})
			if err != nil {
				return fmt.Errorf("list: %w", err)
			}
			at := page.State.Revision
			if len(page.Rows) != int(at)-1 { // Every revision above 1 created an object.
				return fmt.Errorf("a list at %d has %d rows", at, len(page.Rows))
			}
			for _, row := range page.Rows {
				if row.Revision > at {
					return fmt.Errorf("a list at %d has a row of %d", at, row.Revision)
				}
			}
			events, _, err := e.Events(ctx, at, 5)
			if err != nil {
				return fmt.Errorf("events: %w", err)
			}
			for i, event := range events {
				if event.Revision != at+1+engine.Revision(i) {
					return fmt.Errorf("event %d after a list at %d", event.Revision, at)
				}
			}
			done = at >= last
		}
		return nil
	}
}

func testListThenEvents(t *testing.T, target Target) {
	s := target.session(t)
	const each = 80
	together(t, committer(s.engine, "a", each), committer(s.engine, "b", each),
		lister(s.engine, 1+2*each), lister(s.engine, 1+2*each))
}

// testFirstObject reads resources whose first object is just being made: who sees its revision sees the object.
func testFirstObject(t *testing.T, target Target) {
	s := target.session(t)
	const resources, key = 100, "a"
	for i := range resources {
		op := create(key, "x")
		op.Resource = engine.Resource(fmt.Sprintf("/first/%d/", i))
		made := engine.Revision(2 + i)
		write := func(ctx context.Context) error {
			_, err := s.engine.Commit(ctx, []engine.Op{op})
			return err
		}
		list := func(ctx context.Context) error {
			for {
				page, err := s.engine.List(ctx, engine.Query{Resource: op.Resource})
				if err != nil {
					return fmt.Errorf("list: %w", err)
				}
				seen := page.State.Revision >= made
				if seen != (len(page.Rows) == 1) {
					return fmt.Errorf("a list at %d has %d rows of an object made at %d", page.State.Revision, len(page.Rows), made)
				}
				if seen {
					return nil
				}
			}
		}
		get := func(ctx context.Context) error {
			for {
				row, state, err := s.engine.Get(ctx, op.Resource, key)
				if err != nil {
					return fmt.Errorf("get: %w", err)
				}
				seen := state.Revision >= made
				if seen != (row != nil) {
					return fmt.Errorf("a get at %d has %v, made at %d", state.Revision, row, made)
				}
				if seen {
					return nil
				}
			}
		}
		together(t, write, list, list, get)
	}
}

// testRace lets several callers update one row: of those that expect a
// revision exactly one wins, and the others learn what it wrote.
func testRace(t *testing.T, target Target) {
	s := target.session(t)
	s.apply(create("a", "0"))
	const callers, rounds = 4, 25
	var mu sync.Mutex
	wins := map[engine.Revision]int{}
	caller := func(ctx context.Context) error {
		expect := engine.Revision(2)
		for n := 0; n < rounds; {
			batch, err := s.engine.Commit(ctx, []engine.Op{update("a", expect, fmt.Sprint(expect))})
			if err != nil {
				return err
			}
			outcome := batch.Outcomes[0]
			if outcome.Revision == 0 {
				if outcome.Current == nil || outcome.Current.Revision <= expect {
					return fmt.Errorf("conflict at %d with %+v", expect, outcome.Current)
				}
				expect = outcome.Current.Revision
				continue
			}
			mu.Lock()
			wins[expect]++
			mu.Unlock()
			expect = outcome.Revision
			n++
		}
		return nil
	}
	var all []func(context.Context) error
	for range callers {
		all = append(all, caller)
	}
	together(t, all...)
	for revision, n := range wins {
		if n != 1 {
			t.Errorf("%d callers won the update of revision %d", n, revision)
		}
	}
	s.same("wins", len(wins), callers*rounds)
	s.same("state", s.state(), engine.State{Revision: 2 + callers*rounds})
}

// testShared runs writers and readers of one database in several engines, as several replicas do.
func testShared(t *testing.T, target Target) {
	open := target.New(t)
	first := open(t, cluster)
	if !target.Shared {
		if first.Wake() != nil {
			t.Error("an engine that nobody else can write to has a Wake channel")
		}
		return
	}
	const engines, each = 3, 50
	all := []func(context.Context) error{follower(first, 1+engines*each), lister(first, 1+engines*each)}
	for i := range engines {
		e := open(t, cluster)
		all = append(all, committer(e, fmt.Sprint(i), each), follower(e, 1+engines*each))
	}
	together(t, all...)

	if first.Wake() == nil {
		return // It has to poll.
	}
	for range len(first.Wake()) {
		<-first.Wake()
	}
	s := session{t, open(t, cluster)}
	s.apply(create("wake", ""))
	select {
	case <-first.Wake():
	case <-time.After(2 * time.Minute):
		t.Error("no wake-up came after a commit of another engine")
	}
}

func testCompactUnderLoad(t *testing.T, target Target) {
	s := target.session(t)
	const each = 150
	compactor := func(ctx context.Context) error {
		for {
			state, err := s.engine.State(ctx)
			if err == nil && state.Revision > 10 {
				err = s.engine.Compact(ctx, state.Revision-10)
			}
			if err != nil || state.Revision == 1+2*each {
				return err
			}
		}
	}
	reader := func(ctx context.Context) error {
		after := engine.Revision(1)
		for after < 1+2*each {
			events, state, err := s.engine.Events(ctx, after, 20)
			if errors.Is(err, engine.ErrCompacted) {
				if after, err = recoverList(ctx, s.engine); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			for _, event := range events {
				if after++; event.Revision != after {
					return fmt.Errorf("event %d came where %d was due; state %+v", event.Revision, after, state)
				}
			}
		}
		return nil
	}
	together(t, committer(s.engine, "a", each), committer(s.engine, "b", each), compactor, reader, reader)
}

// recoverList lists in pages of one snapshot and returns its revision, like a watcher that fell out of history.
func recoverList(ctx context.Context, e engine.Engine) (engine.Revision, error) {
	for {
		page, err := e.List(ctx, engine.Query{Resource: reports, Limit: 20})
		if err != nil {
			return 0, err
		}
		at, rows := page.State.Revision, len(page.Rows)
		for page.More && err == nil {
			page, err = e.List(ctx, engine.Query{
				Resource: reports, Limit: 20, At: at, After: page.Rows[len(page.Rows)-1].Key,
			})
			rows += len(page.Rows)
		}
		if errors.Is(err, engine.ErrCompacted) {
			continue
		}
		if err == nil && rows != int(at)-1 {
			err = fmt.Errorf("a list at %d has %d rows", at, rows)
		}
		return at, err
	}
}

func testCloseUnderLoad(t *testing.T, target Target) {
	s := target.session(t)
	started := make(chan struct{})
	var once sync.Once
	// Calls may fail in any way, but not panic and not wait forever.
	user := func(call func(ctx context.Context, i int) error) func(context.Context) error {
		return func(ctx context.Context) error {
			for i := 0; call(ctx, i) == nil; i++ {
				if i == 5 {
					once.Do(func() { close(started) })
				}
			}
			return nil
		}
	}
	together(t,
		user(func(ctx context.Context, i int) error {
			_, err := s.engine.Commit(ctx, []engine.Op{create(fmt.Sprint(i), "")})
			return err
		}),
		user(func(ctx context.Context, _ int) error {
			_, err := s.engine.List(ctx, engine.Query{Resource: reports})
			return err
		}),
		user(func(ctx context.Context, _ int) error {
			_, _, err := s.engine.Events(ctx, 1, 100)
			return err
		}),
		func(context.Context) error {
			<-started
			return s.engine.Close()
		})
	_, err := s.engine.Commit(t.Context(), []engine.Op{create("late", "")})
	s.wantClass("commit after close", err, engine.ErrClosed)
	_, err = s.engine.State(t.Context())
	s.wantClass("state after close", err, engine.ErrClosed)
	if err := s.engine.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
