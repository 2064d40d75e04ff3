// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// fakeEngine answers questions about rows in memory. What it answers is what engines do, whose own tests compare them
// with a model.
type fakeEngine struct {
	rows     []engine.ResultRow
	revision engine.Revision
	// others are the other clusters of the database, and own is the name of this one.
	others map[string]*fakeEngine
	own    string
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

// Clusters implements engine.Questions.
func (f *fakeEngine) Clusters(context.Context, []engine.ReportKind) ([]engine.Cluster, error) {
	if err := f.begin(); err != nil {
		return nil, err
	}
	clusters := []engine.Cluster{{Name: f.own, Servers: 1, Changed: time.Unix(100, 0), FirstSeen: time.Unix(50, 0), Reports: 7}}
	for name := range f.others {
		clusters = append(clusters, engine.Cluster{Name: name, Changed: time.Unix(60, 0), FirstSeen: time.Unix(50, 0)})
	}
	slices.SortFunc(clusters, func(a, b engine.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return clusters, nil
}

// of returns the cluster that a question is about.
func (f *fakeEngine) of(cluster string) *fakeEngine {
	if other := f.others[cluster]; other != nil {
		return other
	}
	return f
}

// Count implements engine.Questions.
func (f *fakeEngine) Count(_ context.Context, q engine.CountQuery) (engine.Counts, error) {
	f = f.of(q.Cluster)
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
			groups[key] = &engine.Count{Values: values, Policies: 4, Sources: 5} // For queries that ask for these.
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

// First implements engine.Questions.
func (f *fakeEngine) First(_ context.Context, q engine.OrderQuery) (engine.RowPage, error) {
	f = f.of(q.Cluster)
	if err := q.Check(); err != nil {
		return engine.RowPage{}, err
	}
	if err := f.begin(); err != nil {
		return engine.RowPage{}, err
	}
	place := func(row *engine.ResultRow) engine.OrderPlace { return q.Place(row, textOf(row)) }
	rows := f.selected(q.Kinds, q.Namespace, q.Filter)
	slices.SortFunc(rows, func(a, b engine.ResultRow) int {
		at, other := place(&a), place(&b)
		return q.Compare(&at, &other)
	})
	if q.After != nil {
		rows = slices.DeleteFunc(rows, func(row engine.ResultRow) bool {
			at := place(&row)
			return q.Compare(&at, q.After) <= 0
		})
	}
	page := engine.RowPage{State: f.state(), More: len(rows) > q.Limit, Rows: rows[:min(len(rows), q.Limit)]}
	return page, nil
}
