// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// journalInterval is the shortest time between two log entries about writes.
const journalInterval = time.Minute

// cause is why a report is deleted, for the log.
type cause string

const (
	noResults       cause = "no results left, resources are gone or no longer match"
	noPolicyAnyMore cause = "no policy for them any more"
	merged          cause = "merged with others"
	otherLayout     cause = "of another layout or API group"
	notOurs         cause = "with our label, but not made by us"
)

// reasons counts deleted reports by cause.
type reasons map[cause]int

func (r reasons) sum() (sum int) {
	for _, n := range r {
		sum += n
	}
	return sum
}

// String lists the causes with their numbers, such as "no policy for them any more: 3".
func (r reasons) String() string {
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(r)) {
		parts = append(parts, fmt.Sprintf("%s: %d", c, r[c]))
	}
	return strings.Join(parts, "; ")
}

// journal counts writes that are not logged yet. The mutex of the plan guards it.
type journal struct {
	plan             *plan
	created, updated int
	deleted          reasons
	// first is when the first of them was made, last when writes were logged last.
	first, last time.Time
	// scanned is true once the writes of the first scan are logged.
	scanned bool
	// warned is true once it is logged that all reports are about to be deleted.
	warned bool
}

// empty reports whether there were no writes.
func (j *journal) empty() bool { return j.created+j.updated+j.deleted.sum() == 0 }

// count counts a write; why is for deletions.
func (j *journal) count(operation string, why cause) {
	if j.empty() {
		j.first = j.plan.clock.Now()
	}
	switch operation {
	case opCreate:
		j.created++
	case opUpdate:
		j.updated++
	default:
		if j.deleted == nil {
			j.deleted = reasons{}
		}
		j.deleted[cmp.Or(why, noResults)]++
	}
}

// log logs what was written: at the end of the first scan, and then at most once per interval. It returns when
// there may be something to log; zero if that is not known.
func (j *journal) log(ctx context.Context, now time.Time) time.Time {
	idle := j.plan.pending() == 0
	if j.plan.pruned && idle && !j.scanned {
		j.scanned = true
		j.tell(ctx, now, "The reports are as the first scan found them")
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
	j.tell(ctx, now, "Wrote reports")
	return time.Time{}
}

func (j *journal) tell(ctx context.Context, now time.Time, message string) {
	values := []any{"created", j.created, "updated", j.updated, "deleted", j.deleted.sum()}
	if why := j.deleted.String(); why != "" {
		values = append(values, "why", why)
	}
	values = append(values, j.plan.holdings()...)
	if waiting := j.plan.pending(); waiting > 0 {
		values = append(values, "waiting", waiting)
	}
	klog.FromContext(ctx).Info(message, values...)
	*j = journal{plan: j.plan, last: now, scanned: j.scanned, warned: j.warned}
}

// logRest logs, at the end, what has not been logged yet.
func (j *journal) logRest(ctx context.Context) {
	if !j.empty() {
		j.tell(ctx, j.plan.clock.Now(), "Wrote reports")
	}
}

// warnBeforeDeletingAll warns once when all reports that exist are about to be deleted.
func (j *journal) warnBeforeDeletingAll(ctx context.Context) {
	if j.plan.layout.size() > 0 {
		j.warned = false
		return
	}
	if j.warned {
		return
	}
	going := reasons{}
	for _, rs := range j.plan.reports {
		if rs.exists && (j.plan.pruned || !rs.unwanted) {
			going[cmp.Or(rs.cause, noResults)]++
		}
	}
	if n := going.sum(); n > 0 {
		j.warned = true
		klog.FromContext(ctx).Error(errNothingToReport, "All reports that exist are about to be deleted", "reports", n, "why", going.String())
	}
}

var errNothingToReport = errors.New("there is nothing to report")
