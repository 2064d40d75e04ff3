// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
)

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
	return engine.RowPage{State: f.state(), More: len(rows) > q.Limit, Rows: rows[:min(len(rows), q.Limit)]}, nil
}
