// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"
)

// entryFor returns the entry of a key, which it makes if need be. All functions of this file
// are called with w.mu.
func (w *Writer) entryFor(key entryKey) *entry {
	e := w.entries[key]
	if e == nil {
		e = &entry{key: key}
		w.entries[key] = e
	}
	return e
}

// absorb takes the changes of the layout.
func (w *Writer) absorb() {
	taken := w.layout.take()
	for key, times := range taken.reports {
		e := w.entryFor(entryKey{api: w.api, reportKey: key})
		e.unwanted = e.unwanted && !w.layout.has(key)
		if why, ok := taken.gone[key]; ok && !e.unwanted {
			e.cause = why
		}
		w.mark(e, times)
	}
	for _, m := range taken.moves {
		from, to := w.entries[entryKey{api: w.api, reportKey: m.from}], w.entries[entryKey{api: w.api, reportKey: m.to}]
		if from != nil && to != nil && from != to && !leads(to, from) {
			from.await(to)
		}
	}
	if !w.settled && w.layout.isSettled() {
		w.settled = true
		w.retire()
	}
	observePending(len(w.dirty))
}

// mark notes that an entry has to be looked at.
func (w *Writer) mark(e *entry, times span) {
	e.add(times)
	e.dirty = true
	e.generation++
	w.dirty[e] = struct{}{}
}

// retire lets unwanted reports go, once all that may replace them is written: everything of
// their namespace that is not.
func (w *Writer) retire() {
	unwritten := map[string][]*entry{}
	for _, e := range w.entries {
		if !e.unwanted && e.generation > e.written {
			unwritten[e.key.namespace] = append(unwritten[e.key.namespace], e)
		}
	}
	now := w.clock.Now()
	for _, e := range w.entries {
		if !e.unwanted {
			continue
		}
		for _, other := range unwritten[e.key.namespace] {
			e.await(other)
		}
		w.mark(e, span{first: now, last: now})
	}
}

// await makes e be written after what other has to write now.
func (e *entry) await(other *entry) {
	if e.waits == nil {
		e.waits = map[*entry]uint64{}
	}
	e.waits[other] = other.generation
}

// leads reports whether from waits for to, by itself or by others.
func leads(from, to *entry) bool {
	seen := map[*entry]bool{from: true}
	for queue := []*entry{from}; len(queue) > 0; queue = queue[1:] {
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

// blocked reports whether an entry has to wait for others. A report that is to be deleted waits
// until they are written; one that is changed does not wait for one that can't be written.
func (w *Writer) blocked(e *entry) bool {
	for other, generation := range e.waits {
		if other.written >= generation || w.entries[other.key] != other {
			delete(e.waits, other)
		}
	}
	if len(e.waits) == 0 {
		return false
	}
	if w.goes(e) {
		return true
	}
	for other := range e.waits {
		if other.failures == 0 {
			return true
		}
	}
	return false
}

// goes reports whether the server has a report that the layout has not.
func (w *Writer) goes(e *entry) bool {
	return e.key.api != w.api || !w.layout.has(e.key.reportKey)
}

// dueAt is when an entry may be written.
func (w *Writer) dueAt(e *entry) time.Time {
	due := e.due(w.gather)
	for _, earliest := range []time.Time{e.retry, w.pause} {
		if due.Before(earliest) {
			due = earliest
		}
	}
	return due
}

// pick returns the entry that is to be written now, or the time when one may be; the zero time
// if nothing is known to become due.
func (w *Writer) pick(now time.Time) (*entry, time.Time) {
	var next *entry
	var at time.Time
	for e := range w.dirty {
		if e.busy {
			continue
		}
		if due := w.dueAt(e); (next == nil || due.Before(at)) && !w.blocked(e) {
			next, at = e, due
		}
	}
	if next != nil && !at.After(now) {
		return next, at
	}
	return nil, at
}

// pickUntried returns any entry that is not in tried, due or not.
func (w *Writer) pickUntried(tried map[*entry]bool) *entry {
	for e := range w.dirty {
		if !e.busy && !tried[e] && !w.blocked(e) {
			return e
		}
	}
	return nil
}

// start takes an entry for writing.
func (w *Writer) start(e *entry) {
	e.begin(w.clock.Now(), w.gather)
	e.busy, e.dirty, e.seen = true, false, ""
	delete(w.dirty, e)
	w.busy++
}

// finish notes how a write ended. generation is the one that was written.
func (w *Writer) finish(e *entry, generation uint64, err error) {
	now := w.clock.Now()
	e.busy = false
	w.busy--
	e.err = err
	switch {
	case err == nil:
		e.failures, e.retry = 0, time.Time{}
		e.written = max(e.written, generation)
		w.outages, w.pause = 0, time.Time{}
	case away(err):
		// One pause for all: what the server could not take is no fault of a report.
		w.outages++
		w.pause = now.Add(backoff(w.outages, longestPause))
		w.mark(e, span{first: now, last: now})
	default:
		w.outages, w.pause = 0, time.Time{} // The server has answered.
		e.failures++
		e.retry = now.Add(w.patience(e, err))
		w.mark(e, span{first: now, last: now})
	}
	if e.exists && newer(e.seen, e.ResourceVersion) {
		w.suspectNow(e)
	}
	if !e.exists && !e.dirty && w.goes(e) {
		delete(w.entries, e.key)
	}
	w.broadcast()
}

// suspectNow has an entry read, and written again if somebody changed it. Who changes it time
// and again is answered ever more slowly.
func (w *Writer) suspectNow(e *entry) {
	now := w.clock.Now()
	e.suspect = true
	if e.repairs > 0 {
		if pause := backoff(e.repairs, lastBackoff); now.Before(e.repaired.Add(10 * lastBackoff)) {
			e.retry = e.repaired.Add(pause)
		} else {
			e.repairs = 0
		}
	}
	w.mark(e, span{first: now, last: now})
}

// broadcast wakes all who wait for a change of the plan.
func (w *Writer) broadcast() {
	close(w.news)
	w.news = make(chan struct{})
}
