// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// The lanes of the queue, the more urgent one last.
const (
	laneNone = iota
	laneLow
	laneHigh
	lanes
)

// lowShare is after how many urgent entries another one has its turn, so that a stream of changes
// doesn't stop a scan for ever.
const lowShare = 16

// queue holds entries that wait for a worker. As with client-go's workqueue, an entry is in it
// once at most and with one worker at a time, and one that is added while a worker has it comes
// again afterwards. Unlike there, it has two lanes, and its state is in the entries: an entry
// that waits costs nothing.
type queue struct {
	clock clock.PassiveClock
	// onIdle is called, without a lock, when the last entry is done.
	onIdle func()

	mu     sync.Mutex
	filled *sync.Cond
	closed bool
	lanes  [lanes]lane
	// running is how many entries workers have.
	running int
	// urgent counts entries of the high lane that had their turn since one of the low lane.
	urgent int
}

// lane is a list of entries, oldest first.
type lane struct {
	first, last *entry
	length      int
}

// place is what the queue knows of an entry. Its mutex guards it.
type place struct {
	previous, next *entry
	// since is when the entry was added, in nanoseconds.
	since int64
	lane  uint8
	// again is the lane into which the entry goes when its worker is done.
	again   uint8
	running bool
	// urgent tells from which lane it came. Its worker may read it.
	urgent bool
}

func newQueue(c clock.PassiveClock, onIdle func()) *queue {
	q := &queue{clock: c, onIdle: onIdle}
	q.filled = sync.NewCond(&q.mu)
	return q
}

// add has a worker see the entry.
func (q *queue) add(e *entry, urgent bool) {
	target := uint8(laneLow)
	if urgent {
		target = laneHigh
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := &e.place
	switch {
	case at.running:
		if at.again == laneNone {
			at.since = q.clock.Now().UnixNano()
		}
		at.again = max(at.again, target)
	case at.lane == laneNone:
		at.since = q.clock.Now().UnixNano()
		q.push(e, target)
	case at.lane < target:
		// It keeps its age, and its turn comes by the new lane.
		q.remove(e)
		q.push(e, target)
	}
}

// get waits for an entry. It returns false once the queue is closed. The caller calls done.
func (q *queue) get() (*entry, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.waiting() == 0 {
		q.filled.Wait()
	}
	if q.closed {
		return nil, false
	}
	return q.pop(), true
}

// poll is get for who does not wait.
func (q *queue) poll() (*entry, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.waiting() == 0 {
		return nil, false
	}
	return q.pop(), true
}

// adopt takes an entry that is in no lane as one that get returned.
func (q *queue) adopt(e *entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e.place.running = true
	q.running++
}

// pop is called with the mutex while an entry waits.
func (q *queue) pop() *entry {
	from := &q.lanes[laneHigh]
	low := &q.lanes[laneLow]
	if from.length == 0 || (low.length > 0 && q.urgent >= lowShare) {
		from, q.urgent = low, 0
	} else {
		q.urgent++
	}
	e := from.first
	q.remove(e)
	e.place.running, e.place.urgent = true, from == &q.lanes[laneHigh]
	q.running++
	return e
}

// done gives back an entry that get returned.
func (q *queue) done(e *entry) {
	if q.giveBack(e) {
		q.onIdle()
	}
}

func (q *queue) giveBack(e *entry) (idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	at := &e.place
	at.running = false
	if at.again != laneNone {
		q.push(e, at.again)
		at.again = laneNone
	}
	return q.running == 0 && q.waiting() == 0
}

// close ends all calls of get, whatever waits.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}

// idle reports whether no entry waits or is with a worker.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running == 0 && q.waiting() == 0
}

// lengths returns how many entries wait in each lane and the age of what waits longest. An entry
// that went to the urgent lane late may be older, for the moment until its turn.
func (q *queue) lengths() (low, high int, lag time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now().UnixNano()
	for i := range q.lanes {
		if e := q.lanes[i].first; e != nil {
			lag = max(lag, time.Duration(now-e.place.since))
		}
	}
	return q.lanes[laneLow].length, q.lanes[laneHigh].length, lag
}

// waiting is called with the mutex.
func (q *queue) waiting() int { return q.lanes[laneLow].length + q.lanes[laneHigh].length }

// push is called with the mutex for an entry in no lane.
func (q *queue) push(e *entry, target uint8) {
	to := &q.lanes[target]
	e.place.lane, e.place.previous, e.place.next = target, to.last, nil
	if to.last == nil {
		to.first = e
	} else {
		to.last.place.next = e
	}
	to.last = e
	to.length++
	q.filled.Signal()
}

// remove is called with the mutex for an entry in a lane.
func (q *queue) remove(e *entry) {
	from, at := &q.lanes[e.place.lane], &e.place
	if at.previous == nil {
		from.first = at.next
	} else {
		at.previous.place.next = at.next
	}
	if at.next == nil {
		from.last = at.previous
	} else {
		at.next.place.previous = at.previous
	}
	from.length--
	at.lane, at.previous, at.next = laneNone, nil, nil
}
