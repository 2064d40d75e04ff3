// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
)

// plan knows what is to be written, and in which order: changes are gathered, what is deleted waits for what
// replaces it, and what fails is retried later.
//
// An example. Reports a and b of a namespace are of the layout; o is of another one and unwanted. 2/1 stands for a
// report with the generation 2 of which the server has the generation 1. A report that is queued is picked when it
// is due; one that is held waits for another report or for the gate of its namespace, which has the reports that
// were not written when the layout was pruned.
//
//	what happens                     a           b           o          gate
//	o is loaded                      -           -           0/0        -
//	the scan finds results of a      1/0 queued  -           0/0        -
//	the layout is pruned             1/0 queued  -           1/0 queued a1
//	both are due                     1/0 busy    -           1/0 held   a1
//	a changes meanwhile              2/0 busy    -           1/0 held   a1
//	a is written                     2/1 queued  -           1/0 queued -
//	both are due                     2/1 busy    -           1/0 busy   -
//	both are written                 2/2         -           deleted    -
//	the results of a move to b       3/2 queued  1/0 queued  -          -
//	both are due                     3/2 held    1/0 busy    -          -
//	b is refused                     3/2 queued  2/0 queued  -          -
//	both are due                     3/2 held    2/0 busy    -          -
//	b is written                     3/2 queued  2/2         -          -
//	a is due, and deleted            deleted     2/2         -          -
//	somebody else changes b          -           3/2 queued  -          -
//	b is repaired                    -           3/3         -          -
//
// A reader never misses a result: o goes only after a, which has its results now, and a only after b. That b
// fails does not hold up a change of a, only its deletion. TestPlanExample goes through the table.
type plan struct {
	layout *Layout
	// gather is [Config.Gather].
	gather time.Duration
	clock  clock.Clock

	mu      sync.Mutex
	reports map[reportID]*reportState
	// dirty are the reports that may have to be written; queue has those that nothing holds back.
	dirty map[*reportState]struct{}
	queue dueQueue
	// gates are by namespace.
	gates map[string]*gate
	// busy is the number of writes in progress.
	busy int
	// pruned is true once the layout is: unwanted reports may be deleted.
	pruned bool
	outage outage
	// changed is closed when the plan has changed.
	changed chan struct{}
}

// outage counts writes in a row for which the server did not answer, and says when it may be asked again.
type outage struct {
	failures int
	until    time.Time
}

func newPlan(layout *Layout, gather time.Duration, clock clock.Clock) *plan {
	return &plan{
		layout: layout, gather: gather, clock: clock, reports: map[reportID]*reportState{},
		dirty: map[*reportState]struct{}{}, gates: map[string]*gate{}, changed: make(chan struct{}),
	}
}

// stateOf returns the state of a report, and adds it if there is none. It is called with the mutex, as are all
// functions below, except where they say otherwise.
func (p *plan) stateOf(key reportID) *reportState {
	rs := p.reports[key]
	if rs == nil {
		rs = &reportState{key: key}
		p.reports[key] = rs
	}
	return rs
}

// take takes the changes of the layout.
func (p *plan) take() {
	p.apply(p.layout.takeChanges())
	if !p.pruned && p.layout.isPruned() {
		p.pruned = true
		p.pruneUnwanted()
	}
	observePending(len(p.dirty))
}

func (p *plan) apply(taken changes) {
	for key, times := range taken.reports {
		rs := p.stateOf(reportID{api: p.layout.options.API, reportKey: key})
		rs.unwanted = rs.unwanted && !p.layout.has(key)
		if why, ok := taken.gone[key]; ok && !rs.unwanted {
			rs.cause = why
		}
		p.markDirty(rs, times)
	}
	for _, m := range taken.moves {
		from, to := p.reports[reportID{api: p.layout.options.API, reportKey: m.from}], p.reports[reportID{api: p.layout.options.API, reportKey: m.to}]
		if from != nil && to != nil && from != to && !waitsFor(to, from) {
			from.waitFor(to)
		}
	}
}

// markDirty records that a report may have to be written.
func (p *plan) markDirty(rs *reportState, times span) {
	rs.add(times)
	rs.dirty = true
	rs.generation++
	p.dirty[rs] = struct{}{}
	p.enqueue(rs)
}

// pruneUnwanted has unwanted reports deleted, after everything that may replace them is written: all reports
// in their namespace that are not written yet.
func (p *plan) pruneUnwanted() {
	for _, rs := range p.reports {
		if !rs.unwanted && rs.generation > rs.written {
			p.gateOf(rs.key.namespace).open[rs] = rs.generation
		}
	}
	now := p.clock.Now()
	for _, rs := range p.reports {
		if rs.unwanted {
			rs.gate = p.gates[rs.key.namespace]
			p.markDirty(rs, span{first: now, last: now})
		}
	}
}

// gate has a namespace's reports of which a generation has to be written before any unwanted one is deleted.
type gate struct {
	open map[*reportState]uint64
	held waitlist
}

func (p *plan) gateOf(namespace string) *gate {
	g := p.gates[namespace]
	if g == nil {
		g = &gate{open: map[*reportState]uint64{}, held: waitlist{}}
		p.gates[namespace] = g
	}
	return g
}

// passGate is called when the write of a report has ended.
func (p *plan) passGate(rs *reportState) {
	g := p.gates[rs.key.namespace]
	if g == nil {
		return
	}
	generation, waited := g.open[rs]
	if !waited {
		return
	}
	if p.isWritten(rs, generation) {
		delete(g.open, rs)
	}
	if len(g.open) == 0 {
		delete(p.gates, rs.key.namespace)
	}
	if len(g.open) == 0 || rs.failures > 0 {
		p.release(g.held)
	}
}

// waitFor has a report written only after the current generation of another one.
func (rs *reportState) waitFor(other *reportState) {
	if rs.waits == nil {
		rs.waits = map[*reportState]uint64{}
	}
	rs.waits[other] = other.generation
}

// waitsFor reports whether from waits for to, directly or through others.
func waitsFor(from, to *reportState) bool {
	seen := map[*reportState]bool{from: true}
	for queue := []*reportState{from}; len(queue) > 0; queue = queue[1:] {
		for next := range queue[0].waits {
			if next == to {
				return true
			}
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}

// isWritten reports whether nobody has to wait for a generation of a report any more.
func (p *plan) isWritten(rs *reportState, generation uint64) bool {
	return rs.written >= generation || p.reports[rs.key] != rs
}

// blockedBy returns where a report that has to wait for others waits for one of them; nil if it need not wait.
// One that is to be deleted waits until they are written; one that has changed does not wait for those that
// failed to be written.
func (p *plan) blockedBy(rs *reportState) waitlist {
	for other, generation := range rs.waits {
		if p.isWritten(other, generation) {
			delete(rs.waits, other)
		}
	}
	if rs.gate != nil && len(rs.gate.open) == 0 {
		rs.gate = nil
	}
	if len(rs.waits) == 0 && rs.gate == nil {
		return nil
	}
	obsolete := p.isObsolete(rs)
	for other := range rs.waits {
		if obsolete || other.failures == 0 {
			if other.held == nil {
				other.held = waitlist{}
			}
			return other.held
		}
	}
	if rs.gate != nil {
		for other := range rs.gate.open {
			if obsolete || other.failures == 0 {
				return rs.gate.held
			}
		}
	}
	return nil
}

// isObsolete reports whether the layout does not have a report.
func (p *plan) isObsolete(rs *reportState) bool {
	return rs.key.api != p.layout.options.API || !p.layout.has(rs.key.reportKey)
}

// start begins to write a report.
func (p *plan) start(rs *reportState) {
	rs.begin(p.clock.Now(), p.gather)
	rs.busy, rs.dirty, rs.seen = true, false, ""
	delete(p.dirty, rs)
	p.dequeue(rs)
	p.busy++
}

// finish records how the write of a generation ended.
func (p *plan) finish(rs *reportState, generation uint64, err error) {
	now := p.clock.Now()
	rs.busy = false
	p.busy--
	rs.err = err
	switch {
	case err == nil:
		rs.failures, rs.retry = 0, time.Time{}
		rs.written = max(rs.written, generation)
		p.outage = outage{}
	case unreachable(err):
		// One pause for all reports: the server is at fault, not this report.
		p.outage.failures++
		p.outage.until = now.Add(backoff(p.outage.failures, longestPause))
		p.markDirty(rs, span{first: now, last: now})
	default:
		p.outage = outage{} // The server has answered.
		rs.failures++
		rs.retry = now.Add(backoffFor(rs, err))
		p.markDirty(rs, span{first: now, last: now})
	}
	if rs.exists && newer(rs.seen, rs.ResourceVersion) {
		p.recheck(rs)
	}
	if rs.dirty {
		p.enqueue(rs)
	} else if !rs.exists && p.isObsolete(rs) {
		delete(p.reports, rs.key)
	}
	p.release(rs.held)
	p.passGate(rs)
	p.broadcast()
}

// recheck has a report read, and written if somebody else has changed it. If that happens repeatedly, the
// pauses become longer.
func (p *plan) recheck(rs *reportState) {
	now := p.clock.Now()
	rs.stale = true
	if rs.repairs > 0 {
		if pause := backoff(rs.repairs, lastBackoff); now.Before(rs.repaired.Add(10 * lastBackoff)) {
			rs.retry = rs.repaired.Add(pause)
		} else {
			rs.repairs = 0
		}
	}
	p.markDirty(rs, span{first: now, last: now})
}

// broadcast wakes all goroutines that wait for changed.
func (p *plan) broadcast() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// clearStale resets stale, and reports whether the report has to be read. It takes the mutex; so do all below.
func (p *plan) clearStale(rs *reportState) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	suspect := rs.stale && rs.exists
	rs.stale = false
	return suspect
}

// mark changes what is known of a report.
func (p *plan) mark(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// markRead records a report as it was read, and whether somebody else has changed it.
func (p *plan) markRead(rs *reportState, object report.Accessor, sum hash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rs.hash != (hash{}) && sum != rs.hash {
		rs.repairs++
		rs.repaired = p.clock.Now()
	}
	rs.has(object, sum)
}

func (p *plan) mayDelete(rs *reportState) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return rs.exists && (p.pruned || !rs.unwanted)
}
