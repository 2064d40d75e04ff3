// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// reportID identifies a report of a server.
type reportID struct {
	api API
	reportKey
}

// reportState is what a writer knows about a report that the server has or should have.
type reportState struct {
	key reportID

	// What the server has. The hash is zero until a report that somebody else wrote is read.
	exists bool
	identity
	hash hash

	// dirty is true if there may be something to write.
	dirty bool
	schedule
	// generation counts the changes; written is the generation that the server has.
	generation, written uint64
	// waits are reports of which a generation has to be written first; held are those that wait for this one
	// and are not in the queue.
	waits map[*reportState]uint64
	held  waitlist
	// gate is set for a report that is deleted only after others of its namespace are written.
	gate *gate
	// at is when the report may be written, and place its position in the queue, counted from 1; 0 if it is
	// not in it.
	at    time.Time
	place int
	// unwanted is true for reports of another layout or API, and for those that nobody knows. They are
	// deleted once the layout is pruned.
	unwanted bool
	// cause is why the report is deleted, if it is.
	cause cause

	// busy is true while a goroutine writes the report.
	busy bool
	// stale is true if somebody else may have changed the report, so that it has to be read.
	stale bool
	// seen is the newest resourceVersion that was watched while busy.
	seen string

	failures int
	retry    time.Time
	err      error
	// repairs is how often the report had to be written because somebody else had changed it.
	repairs  int
	repaired time.Time
}

// schedule says when the changes of one report are written.
type schedule struct {
	span
	// limit is how long the first change may wait; zero means the gather time.
	limit time.Duration
}

// longestGather is the longest time for which changes are gathered while there are always new ones.
const longestGather = 30 * time.Second

// add adds changes.
func (s *schedule) add(times span) {
	if s.first.IsZero() {
		s.first = times.first
	}
	if times.last.After(s.last) {
		s.last = times.last
	}
}

// due returns when the report is to be written: when it has not changed for a fifth of the gather time, but
// within the limit.
func (s *schedule) due(gather time.Duration) time.Time {
	quiet, limit := s.last.Add(gather/5), s.first.Add(max(s.limit, gather))
	if limit.Before(quiet) {
		return limit
	}
	return quiet
}

// begin starts a write; later changes belong to the next one. If the report was still changing, the next
// write may wait longer.
func (s *schedule) begin(now time.Time, gather time.Duration) {
	if now.Before(s.last.Add(gather / 5)) {
		s.limit = min(2*max(s.limit, gather), max(longestGather, gather))
	} else {
		s.limit = 0
	}
	s.span = span{}
}

const (
	firstBackoff = time.Second
	lastBackoff  = time.Minute
)

// backoff returns the pause after a number of failures.
func backoff(failures int, last time.Duration) time.Duration {
	if failures > 10 {
		return last
	}
	return min(firstBackoff<<max(failures-1, 0), last)
}

// newer reports whether resourceVersion a is, or may be, later than b.
func newer(a, b string) bool {
	if a == b || a == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
