// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// reportID names a report of a server.
type reportID struct {
	api API
	reportKey
}

// reportState is what a writer knows of a report that the server has or should have.
type reportState struct {
	key reportID

	// What the server has. The hash is that of an unknown report until it is read.
	exists bool
	identity
	hash hash

	// dirty: there may be something to write.
	dirty bool
	schedule
	// generation counts changes; written is the one that the server has.
	generation, written uint64
	// waits are entries whose generation has to be written first.
	waits map[*reportState]uint64
	// unwanted reports are of another layout or API, or of nobody. They go when the layout is
	// settled.
	unwanted bool
	// cause is why it goes, if it does.
	cause cause

	// busy while a goroutine writes it.
	busy bool
	// suspect: somebody else may have changed it; it has to be read.
	stale bool
	// seen is the newest resource version that was seen while busy.
	seen string

	failures int
	retry    time.Time
	err      error
	// repairs counts how often it had to be written again because somebody changed it.
	repairs  int
	repaired time.Time
}

// schedule gathers changes of one report.
type schedule struct {
	span
	// limit is how long the first change waits at most; zero is the default.
	limit time.Duration
}

// longestGather is what gathering grows to under continuing change.
const longestGather = 30 * time.Second

// add notes changes.
func (s *schedule) add(times span) {
	if s.first.IsZero() {
		s.first = times.first
	}
	if times.last.After(s.last) {
		s.last = times.last
	}
}

// due is when the report is to be written: once it is quiet, but within the limit.
func (s *schedule) due(gather time.Duration) time.Time {
	quiet, limit := s.last.Add(gather/5), s.first.Add(max(s.limit, gather))
	if limit.Before(quiet) {
		return limit
	}
	return quiet
}

// begin starts a write at a time: changes from now on belong to the next one. If the report was
// not quiet the next one may gather for longer.
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

// backoff is the pause after a number of failures.
func backoff(failures int, last time.Duration) time.Duration {
	if failures > 10 {
		return last
	}
	return min(firstBackoff<<max(failures-1, 0), last)
}

// newer reports whether resource version a is, or may be, later than b.
func newer(a, b string) bool {
	if a == b || a == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
