// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"fmt"

	"github.com/docket-project/docket/internal/store/engine"
)

// Numbers are a row as tables have it, without the texts that rows share. A page of 500 results has a few dozen
// verdicts, and texts are most of what reading a row costs.
type Numbers struct {
	Object, Index, Seconds, Verdict, Ordinal int64
	// Subject is the result's own, or else the scope of the report; 0 for none.
	Subject int64
}

// Texts are what rows refer to, by its numbers: those that were read so far, and nil for those that are missing.
type Texts struct {
	Reports  map[int64]*engine.ReportRow
	Verdicts map[int64]*engine.Verdict
	Subjects map[int64]*engine.Subject
}

// NewTexts returns none.
func NewTexts() *Texts {
	return &Texts{map[int64]*engine.ReportRow{}, map[int64]*engine.Verdict{}, map[int64]*engine.Subject{}}
}

// Want returns what a page needs and was not wanted before, each number once: the engine is to read that into the maps.
func (t *Texts) Want(page []Numbers) (reports, verdicts, subjects []int64) {
	for i := range page {
		reports = Want(t.Reports, page[i].Object, reports)
		verdicts = Want(t.Verdicts, page[i].Verdict, verdicts)
		if page[i].Subject != 0 {
			subjects = Want(t.Subjects, page[i].Subject, subjects)
		}
	}
	return reports, verdicts, subjects
}

// Want appends a number to those that are to be read unless it is known, which it is from then on: as nil, until it was
// read.
func Want[T any](known map[int64]*T, number int64, missing []int64) []int64 {
	if _, ok := known[number]; ok {
		return missing
	}
	known[number] = nil
	return append(missing, number)
}

// Rows returns the rows of a page. A subject that is missing is none; a row without report or verdict is an error.
func (t *Texts) Rows(page []Numbers) ([]Row, error) {
	rows := make([]Row, 0, len(page))
	for i := range page {
		n := &page[i]
		row := Row{At: *n, ResultRow: engine.ResultRow{
			Report: t.Reports[n.Object], Result: engine.Result{
				Index: int32(n.Index), Seconds: n.Seconds, Ordinal: int32(n.Ordinal), Verdict: t.Verdicts[n.Verdict],
			},
		}}
		switch {
		case row.Report == nil:
			return nil, fmt.Errorf("%w: there is no report of number %d, which has results", engine.ErrCorrupt, n.Object)
		case row.Verdict == nil:
			return nil, fmt.Errorf("%w: a result of report %s %s/%s has no verdict", engine.ErrCorrupt, row.Report.Kind, row.Report.Namespace, row.Report.Name)
		}
		row.Subject = t.Subjects[n.Subject]
		rows = append(rows, row)
	}
	return rows, nil
}
