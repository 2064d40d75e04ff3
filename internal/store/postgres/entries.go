// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import "github.com/docket-project/docket/internal/store/engine"

// entryArgs are the entries of reports that name no subject of their own, for report.verdicts and report.seconds: those
// of all reports in one array, and for each report where its own ones are in there.
type entryArgs struct {
	// Of each report: how many places its entries take, and where the first is;
	// SQL counts from 1. firstSeconds is 0 when all have the time in defaults.
	counts, firstVerdicts, firstSeconds []int32
	defaults                            []int64

	verdicts, seconds []int64

	// Of the report under way. limit is where its places end; used and differ say
	// whether an entry was taken, and whether two have different times.
	from, limit  int
	times        []int64
	used, differ bool
}

// start begins a report with a number of results. As many places are enough, since each entry gives a result.
func (e *entryArgs) start(results int) {
	e.from = len(e.verdicts)
	e.limit = results
	e.times = e.times[:0]
	e.used, e.differ = false, false
	e.defaults = append(e.defaults, 0)
}

// take stores a result at its index, unless there is no such place or it is taken.
func (e *entryArgs) take(result *engine.Result, verdict int64) bool {
	index := int(result.Index)
	if verdict == 0 || index < 0 || index >= e.limit {
		return false
	}
	for len(e.times) <= index {
		e.times = append(e.times, 0)
		e.verdicts = append(e.verdicts, 0)
	}
	if e.verdicts[e.from+index] != 0 {
		return false
	}
	e.verdicts[e.from+index], e.times[index] = verdict, result.Seconds
	last := &e.defaults[len(e.defaults)-1]
	if !e.used {
		e.used, *last = true, result.Seconds
	}
	e.differ = e.differ || *last != result.Seconds
	return true
}

// finish ends the report.
func (e *entryArgs) finish() error {
	end, err := int32Count(len(e.verdicts))
	if err != nil {
		return err
	}
	e.counts = append(e.counts, end-int32(e.from))
	e.firstVerdicts = append(e.firstVerdicts, int32(e.from)+1)
	first := int32(0)
	if e.differ {
		first = int32(len(e.seconds)) + 1
		e.seconds = append(e.seconds, e.times...)
	}
	e.firstSeconds = append(e.firstSeconds, first)
	return nil
}

// set gives the parameters of statements their values.
func (e *entryArgs) set(args *arguments) {
	args.set("report_entries", e.counts)
	args.set("report_first_verdict", e.firstVerdicts)
	args.set("report_first_second", e.firstSeconds)
	args.set("report_result_seconds", e.defaults)
	args.set("entry_verdicts", e.verdicts)
	args.set("entry_seconds", e.seconds)
}
