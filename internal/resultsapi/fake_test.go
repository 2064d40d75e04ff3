// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"fmt"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
)

// fakeEngine answers questions about rows in memory. What it answers is what engines do, whose own tests compare them with
// a model.
type fakeEngine struct {
	rows     []engine.ResultRow
	revision engine.Revision
	// before is called at the beginning of each question.
	before func(*fakeEngine) error
}

var _ engine.Questions = &fakeEngine{}

func (f *fakeEngine) state() engine.State { return engine.State{Revision: f.revision} }

// selected returns the rows of a question in their order.
func (f *fakeEngine) selected(kinds []engine.ReportKind, namespace *string, filter *engine.Filter) []engine.ResultRow {
	var rows []engine.ResultRow
	for _, row := range f.rows {
		known := slices.ContainsFunc(kinds, func(k engine.ReportKind) bool { return k.Kind == row.Report.Kind })
		if known && (namespace == nil || *namespace == row.Report.Namespace) && filter.Match(textOf(&row), row.Seconds) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b engine.ResultRow) int { return a.Report.Compare(b.Report.ReportPlace) })
	return rows
}

func (f *fakeEngine) begin() error {
	if f.before == nil {
		return nil
	}
	return f.before(f)
}

// Rows implements engine.Questions.
func (f *fakeEngine) Rows(_ context.Context, q engine.RowQuery) (engine.RowPage, error) {
	if err := f.begin(); err != nil {
		return engine.RowPage{}, err
	}
	page := engine.RowPage{State: f.state()}
	for _, row := range f.selected(q.Kinds, q.Namespace, q.Filter) {
		if order := row.Report.Compare(q.After); order < 0 || order == 0 && !q.Inclusive {
			continue
		}
		if n := len(page.Rows); n >= q.Limit && page.Rows[n-1].Report.ReportPlace != row.Report.ReportPlace {
			page.More = true
			break
		}
		page.Rows = append(page.Rows, row)
	}
	return page, nil
}

// RowsAbout implements engine.Questions.
func (f *fakeEngine) RowsAbout(_ context.Context, namespace string, kinds []engine.ReportKind, id int64) (engine.RowPage, error) {
	if err := f.begin(); err != nil {
		return engine.RowPage{}, err
	}
	page := engine.RowPage{State: f.state()}
	for _, row := range f.selected(kinds, &namespace, nil) {
		if row.Subject != nil && row.Subject.ID() == id {
			page.Rows = append(page.Rows, row)
		}
	}
	return page, nil
}

// Count implements engine.Questions.
func (f *fakeEngine) Count(_ context.Context, q engine.CountQuery) (engine.Counts, error) {
	if err := f.begin(); err != nil {
		return engine.Counts{}, err
	}
	groups := map[string]*engine.Count{}
	var order []string
	for _, row := range f.selected(q.Kinds, q.Namespace, q.Filter) {
		var values []string
		for _, field := range q.By {
			values = append(values, groupText(&row, field))
		}
		key := fmt.Sprintf("%q", values)
		if groups[key] == nil {
			groups[key] = &engine.Count{Values: values, Policies: 4, Sources: 5} // Whoever asks for these gets them.
			order = append(order, key)
		}
		groups[key].Results++
	}
	slices.Sort(order)
	order = slices.DeleteFunc(order, func(key string) bool { return !q.Meets(groups[key]) })
	counts := engine.Counts{State: f.state(), More: len(order) > q.Limit}
	for _, key := range order[:min(len(order), q.Limit)] {
		counts.Counts = append(counts.Counts, *groups[key])
	}
	return counts, nil
}

// groupText returns what a row is counted by.
func groupText(row *engine.ResultRow, field engine.Field) string {
	switch field {
	case engine.FieldTemplate:
		return engine.Template(row.Verdict.Message)
	case engine.FieldDay:
		return engine.Day(row.Seconds)
	default:
		return textOf(row)(field)
	}
}
