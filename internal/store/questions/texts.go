// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"fmt"
	"slices"

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
	reports  map[int64]*engine.ReportRow
	verdicts map[int64]*engine.Verdict
	subjects map[int64]*engine.Subject
}

// NewTexts returns none.
func NewTexts() *Texts {
	return &Texts{map[int64]*engine.ReportRow{}, map[int64]*engine.Verdict{}, map[int64]*engine.Subject{}}
}

// Tables that rows refer to by number.
const (
	ReportTable  = "report"
	VerdictTable = "verdict"
	SubjectTable = "subject"
)

// LookUp is what has to be read of a table, by its numbers.
type LookUp struct {
	Table   string
	Numbers []int64
	// Take takes a row: its number, and then ReportColumns, engine.VerdictColumns or engine.SubjectColumns.
	Take func(scan func(fields ...any) error) error
}

// ReportColumns are the columns of a report that rows have.
const ReportColumns = "namespace, kind, name, uid, created_at"

// Missing returns what a page needs and was not asked for before, each number once: the engine is to read it.
func (t *Texts) Missing(page []Numbers) []LookUp {
	var reports, verdicts, subjects []int64
	for i := range page {
		reports = want(t.reports, page[i].Object, reports)
		verdicts = want(t.verdicts, page[i].Verdict, verdicts)
		if page[i].Subject != 0 {
			subjects = want(t.subjects, page[i].Subject, subjects)
		}
	}
	all := []LookUp{
		lookUp(ReportTable, reports, t.reports, func(r *engine.ReportRow) []any {
			return []any{&r.Namespace, &r.Kind, &r.Name, &r.UID, &r.CreatedAt}
		}),
		lookUp(VerdictTable, verdicts, t.verdicts, func(v *engine.Verdict) []any { return engine.ColumnFields(engine.VerdictColumns, v) }),
		lookUp(SubjectTable, subjects, t.subjects, func(s *engine.Subject) []any { return engine.ColumnFields(engine.SubjectColumns, s) }),
	}
	return slices.DeleteFunc(all, func(l LookUp) bool { return len(l.Numbers) == 0 })
}

// lookUp returns what reads rows of numbers into a map, in which what is missing stays nil. fields are where a row's
// columns go.
func lookUp[T any](table string, numbers []int64, into map[int64]*T, fields func(*T) []any) LookUp {
	slices.Sort(numbers)
	return LookUp{table, numbers, func(scan func(fields ...any) error) error {
		var number int64
		row := new(T)
		if err := scan(append([]any{&number}, fields(row)...)...); err != nil {
			return err
		}
		into[number] = row
		return nil
	}}
}

// want appends a number to those that are to be read unless it is known, which it is from then on: as nil, until it was
// read.
func want[T any](known map[int64]*T, number int64, missing []int64) []int64 {
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
			Report: t.reports[n.Object], Result: engine.Result{
				Index: int32(n.Index), Seconds: n.Seconds, Ordinal: int32(n.Ordinal), Verdict: t.verdicts[n.Verdict],
			},
		}}
		switch {
		case row.Report == nil:
			return nil, fmt.Errorf("%w: there is no report of number %d, which has results", engine.ErrCorrupt, n.Object)
		case row.Verdict == nil:
			return nil, fmt.Errorf("%w: a result of report %s %s/%s has no verdict", engine.ErrCorrupt, row.Report.Kind, row.Report.Namespace, row.Report.Name)
		}
		row.Subject = t.subjects[n.Subject]
		rows = append(rows, row)
	}
	return rows, nil
}
