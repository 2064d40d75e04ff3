// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import "github.com/docket-project/docket/internal/store/engine"

// entryArgs are the entries of reports that name no subject of their own, for report.verdicts, report.seconds and
// report.ordinals: those of all reports in one array, and for each report where its own ones are in there.
type entryArgs struct {
	// Of each report: how many places its entries take, and where the first is; SQL counts from 1. firstSeconds is 0
	// when all have the time in defaults, and firstOrdinals when all ordinals are 0.
	counts, firstVerdicts, firstSeconds, firstOrdinals []int32
	defaults                                           []int64

	verdicts, seconds []int64
	ordinals          []int32

	report reportEntries // The report under way.
}

// reportEntries are the entries of one report.
type reportEntries struct {
	// from is where its places begin, and limit how many there are at most.
	from, limit int
	times       []int64
	ordinals    []int32
	// used says that an entry was taken, differ that two have different times, and repeated that an ordinal is not 0.
	used, differ, repeated bool
}

// start begins a report with a number of results. As many places are enough, since each entry gives a result.
func (e *entryArgs) start(results int) {
	e.report = reportEntries{from: len(e.verdicts), limit: results, times: e.report.times[:0], ordinals: e.report.ordinals[:0]}
	e.defaults = append(e.defaults, 0)
}

// take stores a result at its index, unless there is no such place or it is taken.
func (e *entryArgs) take(result *engine.Result, verdict int64) bool {
	index, r := int(result.Index), &e.report
	if verdict == 0 || index < 0 || index >= r.limit {
		return false
	}
	for len(r.times) <= index {
		r.times, r.ordinals = append(r.times, 0), append(r.ordinals, 0)
		e.verdicts = append(e.verdicts, 0)
	}
	if e.verdicts[r.from+index] != 0 {
		return false
	}
	e.verdicts[r.from+index], r.times[index], r.ordinals[index] = verdict, result.Seconds, result.Ordinal
	last := &e.defaults[len(e.defaults)-1]
	if !r.used {
		r.used, *last = true, result.Seconds
	}
	r.differ = r.differ || *last != result.Seconds
	r.repeated = r.repeated || result.Ordinal != 0
	return true
}

// finish ends the report.
func (e *entryArgs) finish() error {
	end, err := int32Count(len(e.verdicts))
	if err != nil {
		return err
	}
	r := &e.report
	e.counts = append(e.counts, end-int32(r.from))
	e.firstVerdicts = append(e.firstVerdicts, int32(r.from)+1)
	firstSecond, firstOrdinal := int32(0), int32(0)
	if r.differ {
		firstSecond = int32(len(e.seconds)) + 1
		e.seconds = append(e.seconds, r.times...)
	}
	if r.repeated {
		firstOrdinal = int32(len(e.ordinals)) + 1
		e.ordinals = append(e.ordinals, r.ordinals...)
	}
	e.firstSeconds, e.firstOrdinals = append(e.firstSeconds, firstSecond), append(e.firstOrdinals, firstOrdinal)
	return nil
}

// set gives the parameters of statements their values.
func (e *entryArgs) set(args *arguments) {
	args.set("report_entries", e.counts)
	args.set("report_first_verdict", e.firstVerdicts)
	args.set("report_first_second", e.firstSeconds)
	args.set("report_first_ordinal", e.firstOrdinals)
	args.set("report_result_seconds", e.defaults)
	args.set("entry_verdicts", e.verdicts)
	args.set("entry_seconds", e.seconds)
	args.set("entry_ordinals", e.ordinals)
}
