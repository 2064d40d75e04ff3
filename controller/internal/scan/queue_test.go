// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	clocktesting "k8s.io/utils/clock/testing"
)

// testQueue names its entries.
type testQueue struct {
	*queue
	clock *clocktesting.FakePassiveClock
	names map[string]*resourceState
	idles int
}

func newTestQueue() *testQueue {
	q := &testQueue{clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), names: map[string]*resourceState{}}
	q.queue = newQueue(q.clock)
	q.onIdle = func() { q.idles++ }
	return q
}

func (q *testQueue) entry(name string) *resourceState {
	if q.names[name] == nil {
		q.names[name] = &resourceState{packed: &packed{name: name}}
	}
	return q.names[name]
}

func (q *testQueue) low(names ...string) {
	for _, name := range names {
		q.add(q.entry(name), false)
	}
}

func (q *testQueue) high(names ...string) {
	for _, name := range names {
		q.add(q.entry(name), true)
	}
}

// drain returns the names in the order in which they come.
func (q *testQueue) drain(t *testing.T) []string {
	t.Helper()
	var names []string
	for !q.idle() {
		rs, ok := q.get()
		if !ok {
			t.Fatal("closed")
		}
		names = append(names, rs.packed.name)
		q.done(rs)
	}
	return names
}

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	q := newTestQueue()
	q.low("a", "b", "c", "d", "a")
	q.high("e", "c", "e")
	q.low("c") // It is urgent already.
	if diff := cmp.Diff([]string{"e", "c", "a", "b", "d"}, q.drain(t)); diff != "" {
		t.Error(diff)
	}
	if q.idles != 1 {
		t.Errorf("%d times idle", q.idles)
	}
	q.low("a")
	if diff := cmp.Diff([]string{"a"}, q.drain(t)); diff != "" {
		t.Error(diff)
	}
}

// TestQueueAgain: what is added while a worker has it comes again, not at the same time.
func TestQueueAgain(t *testing.T) {
	t.Parallel()
	q := newTestQueue()
	q.low("a")
	rs, _ := q.get()
	q.low("a", "b")
	q.high("a")
	if low, high := q.loads(); low.length != 1 || high.length != 0 {
		t.Errorf("%d and %d wait", low, high)
	}
	if q.idle() {
		t.Error("idle with a worker at work")
	}
	q.done(rs)
	if diff := cmp.Diff([]string{"a", "b"}, q.drain(t)); diff != "" {
		t.Error(diff)
	}
}

// TestQueueShare: a stream of urgent entries doesn't stop the others.
func TestQueueShare(t *testing.T) {
	t.Parallel()
	q := newTestQueue()
	q.low("low")
	for i := range 3 * lowShare {
		q.high("high")
		rs, _ := q.get()
		q.done(rs)
		if rs.packed.name == "low" {
			if i < lowShare {
				t.Errorf("it came as number %d", i)
			}
			return
		}
	}
	t.Error("it did not come")
}

func TestQueueLag(t *testing.T) {
	t.Parallel()
	q := newTestQueue()
	q.low("a")
	q.clock.SetTime(time.Unix(1010, 0))
	q.high("b")
	if low, high := q.loads(); low.oldest != 10*time.Second || high.oldest != 0 || low.length != 1 || high.length != 1 {
		t.Errorf("low %+v, high %+v", low, high)
	}
	q.drain(t)
	if low, high := q.loads(); low.oldest != 0 || high.oldest != 0 {
		t.Errorf("low %+v, high %+v of nothing", low, high)
	}
}

// TestQueueClose: workers that wait end, and what waits is left.
func TestQueueClose(t *testing.T) {
	t.Parallel()
	q := newTestQueue()
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			if _, ok := q.get(); ok {
				t.Error("an entry from an empty queue")
			}
		})
	}
	q.close()
	workers.Wait()
	q.low("a")
	if _, ok := q.get(); ok {
		t.Error("an entry from a closed queue")
	}
}
