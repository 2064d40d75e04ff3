// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"time"
)

// dueQueue is a heap of the reports that are to be written, by the time at which they may be. It has no report
// that is being written, and none that waits for another one: those are in a [waitlist].
type dueQueue []*reportState

var _ heap.Interface = (*dueQueue)(nil)

// Len implements [heap.Interface], as do the next methods.
func (q dueQueue) Len() int { return len(q) }

// Less orders by time.
func (q dueQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }

// Swap keeps places right.
func (q dueQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

// Push adds a report.
func (q *dueQueue) Push(x any) {
	rs := x.(*reportState) // The heap has nothing else.
	*q = append(*q, rs)
	rs.place = len(*q)
}

// Pop removes the last report.
func (q *dueQueue) Pop() any {
	last := len(*q) - 1
	rs := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	rs.place = 0
	return rs
}

// waitlist has reports that are to be written after another one.
type waitlist map[*reportState]struct{}

// enqueue puts a dirty report into the queue, or to the place where it belongs now. One that is being written
// comes into the queue when that has ended. All functions below are called with the mutex.
func (p *plan) enqueue(rs *reportState) {
	if rs.busy {
		return
	}
	rs.at = rs.due(p.gather)
	if rs.at.Before(rs.retry) {
		rs.at = rs.retry
	}
	if rs.place == 0 {
		heap.Push(&p.queue, rs)
		return
	}
	heap.Fix(&p.queue, rs.place-1)
}

// dequeue removes a report from the queue, if it is in it.
func (p *plan) dequeue(rs *reportState) {
	if rs.place > 0 {
		heap.Remove(&p.queue, rs.place-1)
	}
}

// hold moves a report from the queue to where it waits for another one.
func (p *plan) hold(rs *reportState, list waitlist) {
	p.dequeue(rs)
	list[rs] = struct{}{}
}

// release puts the reports that waited into the queue. Some may have to wait for yet another report.
func (p *plan) release(list waitlist) {
	for rs := range list {
		delete(list, rs)
		if rs.dirty && rs.place == 0 {
			p.enqueue(rs)
		}
	}
}

// pick returns the report that is to be written now, or else the time when one may be; the zero time if none
// is known to become due.
func (p *plan) pick(now time.Time) (*reportState, time.Time) {
	for len(p.queue) > 0 {
		rs := p.queue[0]
		at := rs.at
		if at.Before(p.outage.until) {
			at = p.outage.until
		}
		if at.After(now) {
			return nil, at
		}
		list := p.blockedBy(rs)
		if list == nil {
			return rs, at
		}
		p.hold(rs, list)
	}
	return nil, time.Time{}
}

// pickUntried returns any report that has to be written and is not in tried, due or not.
func (p *plan) pickUntried(tried map[*reportState]bool) *reportState {
	for i := 0; i < len(p.queue); {
		rs := p.queue[i]
		if tried[rs] {
			i++
			continue
		}
		list := p.blockedBy(rs)
		if list == nil {
			return rs
		}
		p.hold(rs, list)
		i = 0 // The heap has changed.
	}
	return nil
}

// pending returns the number of reports that are to be written or checked.
func (p *plan) pending() int { return len(p.dirty) + p.busy }

// holdings returns the number of reports that the server has, and of results in the layout, for the log.
func (p *plan) holdings() []any {
	exist := 0
	for _, rs := range p.reports {
		if rs.exists {
			exist++
		}
	}
	return []any{"reports", exist, "results", p.layout.size()}
}

// isUnreachable reports whether the server has not answered any write of a batch. It takes the mutex, as failed.
func (p *plan) isUnreachable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outage.failures >= parallel
}

// failed returns the errors of the reports that were tried and could not be written.
func (p *plan) failed(tried map[*reportState]bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures(func(rs *reportState) bool { return tried[rs] })
}

// failures returns the errors of reports that could not be written. It is called with the mutex.
func (p *plan) failures(of func(*reportState) bool) error {
	var failures []*reportState
	for rs := range p.dirty {
		if rs.err != nil && of(rs) {
			failures = append(failures, rs)
		}
	}
	slices.SortFunc(failures, func(a, b *reportState) int { return cmp.Compare(a.key.String(), b.key.String()) })
	var errs []error
	for i, rs := range failures {
		if i == shownErrors {
			errs = append(errs, fmt.Errorf("and %d more reports", len(failures)-i))
			break
		}
		errs = append(errs, fmt.Errorf("report %s: %w", rs.key.reportKey, rs.err))
	}
	return errors.Join(errs...)
}

// unwritten returns the reports that are to be written, with their generations. It is called with the mutex.
func (p *plan) unwritten() map[*reportState]uint64 {
	p.take()
	open := map[*reportState]uint64{}
	for _, rs := range p.reports {
		if rs.generation > rs.written {
			open[rs] = rs.generation
		}
	}
	return open
}

// isSettled reports whether a generation is written, or refused for now. It is called with the mutex.
func (p *plan) isSettled(rs *reportState, generation uint64) bool {
	return p.isWritten(rs, generation) || rs.failures > 0 && !rs.busy
}
