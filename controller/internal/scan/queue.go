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
	first, last *resourceState
	length      int
}

// queueState is what the queue knows of an entry. Its mutex guards it.
type queueState struct {
	previous, next *resourceState
	// since is when the entry was added, in nanoseconds.
	since int64
	lane  uint8
	// requeueLane is the lane into which the entry goes when its worker is done.
	requeueLane uint8
	running     bool
	// urgent tells from which lane it came. Its worker may read it.
	urgent bool
}

func newQueue(c clock.PassiveClock, onIdle func()) *queue {
	q := &queue{clock: c, onIdle: onIdle}
	q.filled = sync.NewCond(&q.mu)
	return q
}

// add has a worker see the entry.
func (q *queue) add(rs *resourceState, urgent bool) {
	target := uint8(laneLow)
	if urgent {
		target = laneHigh
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	state := &rs.queued
	switch {
	case state.running:
		if state.requeueLane == laneNone {
			state.since = q.clock.Now().UnixNano()
		}
		state.requeueLane = max(state.requeueLane, target)
	case state.lane == laneNone:
		state.since = q.clock.Now().UnixNano()
		q.push(rs, target)
	case state.lane < target:
		// It keeps its age, and its turn comes by the new lane.
		q.remove(rs)
		q.push(rs, target)
	}
}

// get waits for an entry. It returns false once the queue is closed. The caller calls done.
func (q *queue) get() (*resourceState, bool) {
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
func (q *queue) poll() (*resourceState, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.waiting() == 0 {
		return nil, false
	}
	return q.pop(), true
}

// adopt takes an entry that is in no lane as one that get returned.
func (q *queue) adopt(rs *resourceState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	rs.queued.running = true
	q.running++
}

// pop is called with the mutex while an entry waits.
func (q *queue) pop() *resourceState {
	from := &q.lanes[laneHigh]
	low := &q.lanes[laneLow]
	if from.length == 0 || (low.length > 0 && q.urgent >= lowShare) {
		from, q.urgent = low, 0
	} else {
		q.urgent++
	}
	rs := from.first
	q.remove(rs)
	rs.queued.running, rs.queued.urgent = true, from == &q.lanes[laneHigh]
	q.running++
	return rs
}

// done gives back an entry that get returned.
func (q *queue) done(rs *resourceState) {
	if q.giveBack(rs) {
		q.onIdle()
	}
}

func (q *queue) giveBack(rs *resourceState) (idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	state := &rs.queued
	state.running = false
	if state.requeueLane != laneNone {
		q.push(rs, state.requeueLane)
		state.requeueLane = laneNone
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
		if rs := q.lanes[i].first; rs != nil {
			lag = max(lag, time.Duration(now-rs.queued.since))
		}
	}
	return q.lanes[laneLow].length, q.lanes[laneHigh].length, lag
}

// waiting is called with the mutex.
func (q *queue) waiting() int { return q.lanes[laneLow].length + q.lanes[laneHigh].length }

// push is called with the mutex for an entry in no lane.
func (q *queue) push(rs *resourceState, target uint8) {
	to := &q.lanes[target]
	rs.queued.lane, rs.queued.previous, rs.queued.next = target, to.last, nil
	if to.last == nil {
		to.first = rs
	} else {
		to.last.queued.next = rs
	}
	to.last = rs
	to.length++
	q.filled.Signal()
}

// remove is called with the mutex for an entry in a lane.
func (q *queue) remove(rs *resourceState) {
	from, state := &q.lanes[rs.queued.lane], &rs.queued
	if state.previous == nil {
		from.first = state.next
	} else {
		state.previous.queued.next = state.next
	}
	if state.next == nil {
		from.last = state.previous
	} else {
		state.next.queued.previous = state.previous
	}
	from.length--
	state.lane, state.previous, state.next = laneNone, nil, nil
}
