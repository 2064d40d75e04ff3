// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// journalInterval is how often the log says at most what was written.
const journalInterval = time.Minute

// cause is why a report goes.
type cause uint8

const (
	noResults cause = iota
	noPolicyAnyMore
	merged
	otherLayout
	notOurs
	causes // How many there are.
)

// String is for the log.
func (c cause) String() string {
	switch c {
	case noPolicyAnyMore:
		return "no policy for them any more"
	case merged:
		return "merged with others"
	case otherLayout:
		return "of another layout or API group"
	case notOurs:
		return "with our label, but not made by us"
	default:
		return "no results left, resources are gone or no longer match"
	}
}

// reasons counts reports by the cause that they go for.
type reasons [causes]int

func (r *reasons) sum() int {
	sum := 0
	for _, n := range r {
		sum += n
	}
	return sum
}

// String has the causes that there are, such as "no policy for them any more: 3".
func (r *reasons) String() string {
	var parts []string
	for c, n := range r {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%v: %d", cause(c), n))
		}
	}
	return strings.Join(parts, "; ")
}

// journal is what the log has not said yet. It is guarded by the mutex of its writer.
type journal struct {
	created, updated int
	deleted          reasons
	// first is when the first of these was written, last when the log said something.
	first, last time.Time
	// scanned tells that the log has said what the first scan changed.
	scanned bool
	// warned tells that the log has said that all reports go.
	warned bool
}

// empty reports whether nothing was written.
func (j *journal) empty() bool { return j.created+j.updated+j.deleted.sum() == 0 }

// add notes a write. All functions of this file from here on are called with w.mu.
func (w *Writer) add(count *int) {
	if w.journal.empty() {
		w.journal.first = w.clock.Now()
	}
	*count++
}

func (w *Writer) addPut(operation string) {
	if operation == opCreate {
		w.add(&w.journal.created)
		return
	}
	w.add(&w.journal.updated)
}

// logWrites says in the log what was written: at the end of the first scan, and then at most once
// in each interval. It returns when there may be something to say; zero if that is unknown.
func (w *Writer) logWrites(ctx context.Context, now time.Time) time.Time {
	j := &w.journal
	idle := len(w.dirty) == 0 && w.busy == 0
	if w.pruned && idle && !j.scanned {
		j.scanned = true
		w.logWritten(ctx, now, "The reports are as the first scan found them")
		return time.Time{}
	}
	if j.empty() {
		return time.Time{}
	}
	due := j.first.Add(journalInterval)
	if idle {
		due = j.last.Add(journalInterval)
	}
	if now.Before(due) {
		return due
	}
	w.logWritten(ctx, now, "Wrote reports")
	return time.Time{}
}

func (w *Writer) logWritten(ctx context.Context, now time.Time, message string) {
	j := &w.journal
	values := []any{"created", j.created, "updated", j.updated, "deleted", j.deleted.sum()}
	if why := j.deleted.String(); why != "" {
		values = append(values, "why", why)
	}
	values = append(values, w.holdings()...)
	if waiting := len(w.dirty) + w.busy; waiting > 0 {
		values = append(values, "waiting", waiting)
	}
	klog.FromContext(ctx).Info(message, values...)
	*j = journal{last: now, scanned: j.scanned, warned: j.warned}
}

// logRest says at the end what was not said yet.
func (w *Writer) logRest(ctx context.Context) {
	if !w.journal.empty() {
		w.logWritten(ctx, w.clock.Now(), "Wrote reports")
	}
}

// holdings are the numbers of reports that the server has and of the results in the layout.
func (w *Writer) holdings() []any {
	existing := 0
	for _, rs := range w.reports {
		if rs.exists {
			existing++
		}
	}
	return []any{"reports", existing, "results", w.layout.size()}
}

// warnBeforeDeletingAll warns once when all reports that exist are about to be deleted.
func (w *Writer) warnBeforeDeletingAll(ctx context.Context) {
	if w.layout.size() > 0 {
		w.journal.warned = false
		return
	}
	if w.journal.warned {
		return
	}
	var going reasons
	for _, rs := range w.reports {
		if rs.exists && (w.pruned || !rs.unwanted) {
			going[rs.cause]++
		}
	}
	if n := going.sum(); n > 0 {
		w.journal.warned = true
		klog.FromContext(ctx).Error(errNothingToReport, "All reports that exist are about to be deleted", "reports", n, "why", going.String())
	}
}

var errNothingToReport = errors.New("there is nothing to report")

// size is the number of results.
func (l *Layout) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, count := range l.counts.total {
		n += count
	}
	return n
}
