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
}

// pruneUnwanted has unwanted reports deleted, after everything that may replace them is written: all reports
// in their namespace that are not written yet.
func (w *Writer) pruneUnwanted() {
	unwritten := map[string][]*reportState{}
	for _, rs := range w.reports {
		if !rs.unwanted && rs.generation > rs.written {
			unwritten[rs.key.namespace] = append(unwritten[rs.key.namespace], rs)
		}
	}
	now := w.clock.Now()
	for _, rs := range w.reports {
		if !rs.unwanted {
			continue
		}
		for _, other := range unwritten[rs.key.namespace] {
			rs.waitFor(other)
		}
		w.markDirty(rs, span{first: now, last: now})
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

// blocked reports whether a report has to wait for others. One that is to be deleted waits until they are
// written; one that has changed does not wait for those that failed to be written.
func (w *Writer) blocked(rs *reportState) bool {
	for other, generation := range rs.waits {
		if other.written >= generation || w.reports[other.key] != other {
			delete(rs.waits, other)
		}
	}
	if len(rs.waits) == 0 {
		return false
	}
	if w.isObsolete(rs) {
		return true
	}
	for other := range rs.waits {
		if other.failures == 0 {
			return true
		}
	}
	return false
}

// isObsolete reports whether the layout does not have a report.
func (w *Writer) isObsolete(rs *reportState) bool {
	return rs.key.api != w.api || !w.layout.has(rs.key.reportKey)
}

// dueAt returns when a report may be written.
func (w *Writer) dueAt(rs *reportState) time.Time {
	due := rs.due(w.gather)
	for _, earliest := range []time.Time{rs.retry, w.pause} {
		if due.Before(earliest) {
			due = earliest
		}
	}
	return due
}

// pick returns the report that is to be written now, or else the time when one may be; the zero time if none
// is known to become due.
func (w *Writer) pick(now time.Time) (*reportState, time.Time) {
	var next *reportState
	var at time.Time
	for rs := range w.dirty {
		if rs.busy {
			continue
		}
		if due := w.dueAt(rs); (next == nil || due.Before(at)) && !w.blocked(rs) {
			next, at = rs, due
		}
	}
	if next != nil && !at.After(now) {
		return next, at
	}
	return nil, at
}

// pickUntried returns any report that has to be written and is not in tried, due or not.
func (w *Writer) pickUntried(tried map[*reportState]bool) *reportState {
	for rs := range w.dirty {
		if !rs.busy && !tried[rs] && !w.blocked(rs) {
			return rs
		}
	}
	return nil
}

// start begins to write a report.
func (w *Writer) start(rs *reportState) {
	rs.begin(w.clock.Now(), w.gather)
	rs.busy, rs.dirty, rs.seen = true, false, ""
	delete(w.dirty, rs)
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
	if !rs.exists && !rs.dirty && w.isObsolete(rs) {
		delete(w.reports, rs.key)
	}
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
