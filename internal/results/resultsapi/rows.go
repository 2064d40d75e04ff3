// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// namedRow is a row with the name that it has as an object.
type namedRow struct {
	engine.ResultRow

	name string
}

// namedPage is a page of rows in the order of reports, and of names within a report.
type namedPage struct {
	rows []namedRow
	more bool
	// state of the snapshot; when the page was put together of several, of the last one.
	state engine.State
	// changed says that these were not of one revision.
	changed bool
}

// page returns at most limit rows behind a place.
func (s *source) page(ctx context.Context, q engine.RowQuery, after place, limit int) (namedPage, error) {
	var page namedPage
	q.After, q.Inclusive, q.Duplicates = after.report(), after.Name != "", !keepsDuplicates(q.Filter)
	for first := true; ; first = false {
		q.Limit = limit + 1 - len(page.rows)
		read, err := s.questions.Rows(ctx, q)
		if err != nil {
			return page, err
		}
		page.changed = page.changed || !first && page.state.Revision != read.State.Revision
		page.state = read.State
		duplicates := read.Rows
		if q.Duplicates {
			duplicates = read.Duplicates
		}
		for _, row := range nameReports(read.Rows, duplicates) {
			if row.Report.ReportPlace != after.report() || row.name > after.Name {
				page.rows = append(page.rows, row)
			}
		}
		if len(page.rows) > limit {
			page.rows, page.more = page.rows[:limit], true
			return page, nil
		}
		if !read.More || len(read.Rows) == 0 {
			return page, nil
		}
		q.After, q.Inclusive = read.Rows[len(read.Rows)-1].Report.ReportPlace, false
	}
}

// nameReports names rows, given these and all their duplicates. Both are in the order of reports.
func nameReports(rows, duplicates []engine.ResultRow) []namedRow {
	named := make([]namedRow, 0, len(rows))
	for len(rows) > 0 {
		at := rows[0].Report.ReportPlace
		n, m := ofReport(rows, at), ofReport(duplicates, at)
		named = append(named, nameReport(rows[:n], duplicates[:m])...)
		rows, duplicates = rows[n:], duplicates[m:]
	}
	return named
}

// ofReport returns how many of the first rows are of a report.
func ofReport(rows []engine.ResultRow, at engine.ReportPlace) int {
	n := slices.IndexFunc(rows, func(r engine.ResultRow) bool { return r.Report.ReportPlace != at })
	if n < 0 {
		return len(rows)
	}
	return n
}

// nameReport names rows of one report, given these and all their duplicates.
func nameReport(rows, duplicates []engine.ResultRow) []namedRow {
	wanted := make(map[rowKey]int, len(rows))
	for i := range rows {
		wanted[keyOf(&rows[i])] = i
	}
	before := make(map[engine.Identity]int, len(rows))
	named := make([]namedRow, 0, len(rows))
	for i := range duplicates {
		id := duplicates[i].Identity()
		if at, ok := wanted[keyOf(&duplicates[i])]; ok {
			named = append(named, namedRow{rows[at], nameOf(&duplicates[i], before[id])})
		}
		before[id]++
	}
	slices.SortFunc(named, func(a, b namedRow) int { return strings.Compare(a.name, b.name) })
	return named
}

// rowKey says which row of its report a row is.
type rowKey struct {
	index   int32
	subject engine.Subject
}

func keyOf(row *engine.ResultRow) rowKey {
	key := rowKey{index: row.Index}
	if row.Subject != nil {
		key.subject = *row.Subject
	}
	return key
}

// keepsDuplicates reports whether a filter selects all rows of one identity in a report, or none.
func keepsDuplicates(filter *engine.Filter) bool {
	keeps := true
	filter.Uses(func(field engine.Field) {
		switch field {
		case engine.FieldNamespace, engine.FieldReportKind, engine.FieldReport, engine.FieldReportUID, engine.FieldSource, engine.FieldPolicy,
			engine.FieldRule, engine.FieldSubjectAPIVersion, engine.FieldSubjectKind, engine.FieldSubjectNamespace, engine.FieldSubjectName,
			engine.FieldSubjectUID:
		default:
			keeps = false
		}
	})
	return keeps
}

// texts give the texts of a row's fields.
var texts = map[engine.Field]func(row *engine.ResultRow, about *engine.Subject) string{
	engine.FieldNamespace:  func(r *engine.ResultRow, _ *engine.Subject) string { return r.Report.Namespace },
	engine.FieldReportKind: func(r *engine.ResultRow, _ *engine.Subject) string { return r.Report.Kind },
	engine.FieldReport:     func(r *engine.ResultRow, _ *engine.Subject) string { return r.Report.Name },
	engine.FieldReportUID:  func(r *engine.ResultRow, _ *engine.Subject) string { return r.Report.UID },
	engine.FieldCreated:    func(r *engine.ResultRow, _ *engine.Subject) string { return strconv.FormatInt(r.Report.CreatedAt, 10) },
	engine.FieldSource:     func(r *engine.ResultRow, _ *engine.Subject) string { return r.Verdict.Source },
	engine.FieldPolicy:     func(r *engine.ResultRow, _ *engine.Subject) string { return r.Verdict.Policy },
	engine.FieldRule:       func(r *engine.ResultRow, _ *engine.Subject) string { return r.Verdict.Rule },
	engine.FieldCategory:   func(r *engine.ResultRow, _ *engine.Subject) string { return r.Verdict.Category },
	engine.FieldSeverity:   func(r *engine.ResultRow, _ *engine.Subject) string { return r.Verdict.Severity },
	engine.FieldResult:     func(r *engine.ResultRow, _ *engine.Subject) string { return r.Verdict.Result },
	engine.FieldScored:     func(r *engine.ResultRow, _ *engine.Subject) string { return strconv.FormatBool(r.Verdict.Scored) },
	engine.FieldMessage: func(r *engine.ResultRow, _ *engine.Subject) string {
		return engine.Message(r.Verdict.Message, r.Subject)
	},
	engine.FieldSubjectAPIVersion: func(_ *engine.ResultRow, s *engine.Subject) string { return s.APIVersion },
	engine.FieldSubjectKind:       func(_ *engine.ResultRow, s *engine.Subject) string { return s.Kind },
	engine.FieldSubjectNamespace:  func(_ *engine.ResultRow, s *engine.Subject) string { return s.Namespace },
	engine.FieldSubjectName:       func(_ *engine.ResultRow, s *engine.Subject) string { return s.Name },
	engine.FieldSubjectUID:        func(_ *engine.ResultRow, s *engine.Subject) string { return s.UID },
}

// textOf returns what gives the texts of a row's fields; "" for those of a subject that it doesn't have.
func textOf(row *engine.ResultRow) func(engine.Field) string {
	about := row.Subject
	if about == nil {
		about = &engine.Subject{}
	}
	return func(field engine.Field) string {
		if name, ok := field.Property(); ok {
			return row.Verdict.Property(name)
		}
		if text, ok := texts[field]; ok {
			return text(row, about)
		}
		return "" // The time of a result is no text.
	}
}
