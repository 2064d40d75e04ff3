// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// First implements engine.Questions: it sorts all rows by keys that it makes of them.
func (m *Model) First(ctx context.Context, q engine.OrderQuery) (engine.RowPage, error) {
	if q.Cluster != "" {
		other, err := m.neighbour(q.Cluster)
		if err != nil {
			return engine.RowPage{}, err
		}
		q.Cluster = ""
		return other.First(ctx, q)
	}
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.RowPage{}, err
	}
	defer unlock()
	if err := q.Check(); err != nil {
		return engine.RowPage{}, fmt.Errorf("read results in order: %w", err)
	}
	var rows []engine.ResultRow
	for _, p := range m.reports(q.Kinds, q.Namespace) {
		rows = append(rows, selectRows(p, q.Filter)...)
	}
	// Rows are in the order of Rows, so that a stable sort needs only the field and the time.
	slices.SortStableFunc(rows, func(a, b engine.ResultRow) int {
		var order int
		switch q.OrderBy {
		case engine.FieldSeconds:
			return cmp.Compare(sortedTime(a, q.Descending), sortedTime(b, q.Descending))
		case engine.FieldSeverity:
			order = cmp.Compare(severityDigit(a), severityDigit(b))
		default:
			order = strings.Compare(textOf(a, q.OrderBy), textOf(b, q.OrderBy))
		}
		if q.Descending {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(sortedTime(a, true), sortedTime(b, true)))
	})
	if q.After != nil {
		rows = slices.DeleteFunc(rows, func(row engine.ResultRow) bool {
			place := orderPlaceOf(&q, row)
			return q.Compare(&place, q.After) <= 0
		})
	}
	page := engine.RowPage{State: m.state, More: len(rows) > q.Limit}
	page.Rows = rows[:min(len(rows), q.Limit)]
	return page, nil
}

// sortedTime is a number that grows in the order of times, of which rows without one are at the end.
func sortedTime(row engine.ResultRow, newestFirst bool) int64 {
	switch {
	case row.Seconds == 0:
		return math.MaxInt64
	case newestFirst:
		return -row.Seconds
	}
	return row.Seconds
}

func severityDigit(row engine.ResultRow) int {
	return map[string]int{"critical": -5, "high": -4, "medium": -3, "low": -2, "info": -1}[row.Verdict.Severity]
}

func orderPlaceOf(q *engine.OrderQuery, row engine.ResultRow) engine.OrderPlace {
	return q.Place(&row, func(field engine.Field) string { return textOf(row, field) })
}
