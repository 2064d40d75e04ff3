// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// The lanes of the queue, from the least urgent one.
const (
	laneNone = iota
	laneLow
	laneHigh
	lanes
)

// lowShare is the number of urgent resources in a row after which one that is not urgent is taken, so that
// a stream of changes can't stop a scan.
const lowShare = 16

// queue holds resources that wait for a worker. As in client-go's workqueue, a resource is in it at most
// once and with at most one worker, and one that is added while a worker has it is handed out once more
// afterwards. Unlike there, it has two lanes, and its state is in the resources, so that waiting takes no
// memory: docs/adr/0033-controller-runtime.md compares it with others.
type queue struct {
	clock clock.PassiveClock
	// onIdle, if not nil, is called without a lock when the last resource is done.
	onIdle func()

	mu     sync.Mutex
	filled *sync.Cond
	closed bool
	lanes  [lanes]lane
	// running is the number of resources that workers have.
	running int
	// urgent is the number of resources of the high lane that were taken since the last one of the low lane.
	urgent int
}

// lane is a list of resources, oldest first.
type lane struct {
	first, last *resourceState
	length      int
}

// queueState is what the queue keeps in a resource. The mutex of the queue guards it.
type queueState struct {
	previous, next *resourceState
	// since is when the resource was added, in nanoseconds since 1970.
	since int64
	lane  uint8
	// requeueLane is the lane into which the resource goes when its worker is done.
	requeueLane uint8
	running     bool
	// urgent is true if the worker took it from the high lane. The worker may read it.
	urgent bool
}

func newQueue(c clock.PassiveClock) *queue {
	q := &queue{clock: c}
	q.filled = sync.NewCond(&q.mu)
	return q
}

// add puts a resource into a lane.
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
		// It keeps its age, and goes to the end of the urgent lane.
		q.remove(rs)
		q.push(rs, target)
	}
}

// get waits for a resource. It returns false once the queue is closed. The caller must call done.
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

// poll is like get, but returns false instead of waiting.
func (q *queue) poll() (*resourceState, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.waiting() == 0 {
		return nil, false
	}
	return q.pop(), true
}

// adopt counts a resource that is in no lane as if get had returned it.
func (q *queue) adopt(rs *resourceState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	rs.queued.running = true
	q.running++
}

// pop is called with the mutex while a resource waits.
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

// done gives back a resource that get, poll or adopt handed out.
func (q *queue) done(rs *resourceState) {
	if q.giveBack(rs) {
		q.signalIdle()
	}
}

func (q *queue) signalIdle() {
	if q.onIdle != nil {
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

// close ends all calls of get, even if resources wait.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}

// idle reports whether no resource waits or is with a worker.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running == 0 && q.waiting() == 0
}

// load is what waits in a lane, and for how long the first of it has.
type load struct {
	length int
	oldest time.Duration
}

// loads returns what waits in the lanes. A resource that was moved to the urgent lane and is not its first may be
// older; that lane is soon empty.
func (q *queue) loads() (low, high load) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now().UnixNano()
	of := func(l *lane) load {
		if l.first == nil {
			return load{}
		}
		return load{length: l.length, oldest: time.Duration(now - l.first.queued.since)}
	}
	return of(&q.lanes[laneLow]), of(&q.lanes[laneHigh])
}

// length returns the number of resources that wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting()
}

// waiting is called with the mutex.
func (q *queue) waiting() int { return q.lanes[laneLow].length + q.lanes[laneHigh].length }

// push is called with the mutex for a resource that is in no lane.
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

// remove is called with the mutex for a resource that is in a lane.
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
