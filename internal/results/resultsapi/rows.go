// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"cmp"
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
	q.After, q.Inclusive = after.report(), after.Name != ""
	for first := true; ; first = false {
		q.Limit = limit + 1 - len(page.rows)
		read, err := s.questions.Rows(ctx, q)
		if err != nil {
			return page, err
		}
		page.changed = page.changed || !first && page.state.Revision != read.State.Revision
		page.state = read.State
		for _, row := range nameRows(read.Rows) {
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

// nameRows names rows in the order of reports, and puts those of a report in the order of names.
func nameRows(rows []engine.ResultRow) []namedRow {
	named := make([]namedRow, len(rows))
	for i := range rows {
		named[i] = namedRow{rows[i], nameOf(&rows[i])}
	}
	slices.SortStableFunc(named, func(a, b namedRow) int {
		return cmp.Or(a.Report.Compare(b.Report.ReportPlace), strings.Compare(a.name, b.name))
	})
	return named
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
