// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"
)

// stateOf returns the state of a report, and adds it if there is none. All functions of this file are
// called with w.mu.
func (w *Writer) stateOf(key reportID) *reportState {
	rs := w.reports[key]
	if rs == nil {
		rs = &reportState{key: key}
		w.reports[key] = rs
	}
	return rs
}

// drainChanges takes the changes of the layout.
func (w *Writer) drainChanges() {
	taken := w.layout.takeChanges()
	for key, times := range taken.reports {
		rs := w.stateOf(reportID{api: w.api, reportKey: key})
		rs.unwanted = rs.unwanted && !w.layout.has(key)
		if why, ok := taken.gone[key]; ok && !rs.unwanted {
			rs.cause = why
		}
		w.markDirty(rs, times)
	}
	for _, m := range taken.moves {
		from, to := w.reports[reportID{api: w.api, reportKey: m.from}], w.reports[reportID{api: w.api, reportKey: m.to}]
		if from != nil && to != nil && from != to && !waitsFor(to, from) {
			from.waitFor(to)
		}
	}
	if !w.pruned && w.layout.isPruned() {
		w.pruned = true
		w.pruneUnwanted()
	}
	observePending(len(w.dirty))
}

// markDirty records that a report may have to be written.
func (w *Writer) markDirty(rs *reportState, times span) {
	rs.add(times)
	rs.dirty = true
	rs.generation++
	w.dirty[rs] = struct{}{}
	w.enqueue(rs)
}

// pruneUnwanted has unwanted reports deleted, after everything that may replace them is written: all reports
// in their namespace that are not written yet.
func (w *Writer) pruneUnwanted() {
	for _, rs := range w.reports {
		if !rs.unwanted && rs.generation > rs.written {
			w.gateOf(rs.key.namespace).open[rs] = rs.generation
		}
	}
	now := w.clock.Now()
	for _, rs := range w.reports {
		if rs.unwanted {
			rs.gate = w.gates[rs.key.namespace]
			w.markDirty(rs, span{first: now, last: now})
		}
	}
}

// gate has a namespace's reports of which a generation has to be written before any unwanted one is deleted.
type gate struct {
	open map[*reportState]uint64
	held waitlist
}

func (w *Writer) gateOf(namespace string) *gate {
	g := w.gates[namespace]
	if g == nil {
		g = &gate{open: map[*reportState]uint64{}, held: waitlist{}}
		w.gates[namespace] = g
	}
	return g
}

// passGate is called when the write of a report has ended.
func (w *Writer) passGate(rs *reportState) {
	g := w.gates[rs.key.namespace]
	if g == nil {
		return
	}
	generation, waited := g.open[rs]
	if !waited {
		return
	}
	if w.isWritten(rs, generation) {
		delete(g.open, rs)
	}
	if len(g.open) == 0 {
		delete(w.gates, rs.key.namespace)
	}
	if len(g.open) == 0 || rs.failures > 0 {
		w.release(g.held)
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
func (w *Writer) isWritten(rs *reportState, generation uint64) bool {
	return rs.written >= generation || w.reports[rs.key] != rs
}

// blockedBy returns where a report that has to wait for others waits for one of them; nil if it need not wait.
// One that is to be deleted waits until they are written; one that has changed does not wait for those that
// failed to be written.
func (w *Writer) blockedBy(rs *reportState) waitlist {
	for other, generation := range rs.waits {
		if w.isWritten(other, generation) {
			delete(rs.waits, other)
		}
	}
	if rs.gate != nil && len(rs.gate.open) == 0 {
		rs.gate = nil
	}
	if len(rs.waits) == 0 && rs.gate == nil {
		return nil
	}
	obsolete := w.isObsolete(rs)
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
func (w *Writer) isObsolete(rs *reportState) bool {
	return rs.key.api != w.api || !w.layout.has(rs.key.reportKey)
}

// start begins to write a report.
func (w *Writer) start(rs *reportState) {
	rs.begin(w.clock.Now(), w.gather)
	rs.busy, rs.dirty, rs.seen = true, false, ""
	delete(w.dirty, rs)
	w.dequeue(rs)
	w.busy++
}

// finish records how the write of a generation ended.
func (w *Writer) finish(rs *reportState, generation uint64, err error) {
	now := w.clock.Now()
	rs.busy = false
	w.busy--
	rs.err = err
	switch {
	case err == nil:
		rs.failures, rs.retry = 0, time.Time{}
		rs.written = max(rs.written, generation)
		w.outages, w.pause = 0, time.Time{}
	case unreachable(err):
		// One pause for all reports: the server is at fault, not this report.
		w.outages++
		w.pause = now.Add(backoff(w.outages, longestPause))
		w.markDirty(rs, span{first: now, last: now})
	default:
		w.outages, w.pause = 0, time.Time{} // The server has answered.
		rs.failures++
		rs.retry = now.Add(w.backoffFor(rs, err))
		w.markDirty(rs, span{first: now, last: now})
	}
	if rs.exists && newer(rs.seen, rs.ResourceVersion) {
		w.recheck(rs)
	}
	if rs.dirty {
		w.enqueue(rs)
	} else if !rs.exists && w.isObsolete(rs) {
		delete(w.reports, rs.key)
	}
	w.release(rs.held)
	w.passGate(rs)
	w.broadcast()
}

// recheck has a report read, and written if somebody else has changed it. If that happens repeatedly, the
// pauses become longer.
func (w *Writer) recheck(rs *reportState) {
	now := w.clock.Now()
	rs.stale = true
	if rs.repairs > 0 {
		if pause := backoff(rs.repairs, lastBackoff); now.Before(rs.repaired.Add(10 * lastBackoff)) {
			rs.retry = rs.repaired.Add(pause)
		} else {
			rs.repairs = 0
		}
	}
	w.markDirty(rs, span{first: now, last: now})
}

// broadcast wakes all goroutines that wait for planChanged.
func (w *Writer) broadcast() {
	close(w.planChanged)
	w.planChanged = make(chan struct{})
}
