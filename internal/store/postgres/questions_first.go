// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// First implements questions.Tables.
func (s *resultReader) First(ctx context.Context, q *engine.OrderQuery, from questions.Selection) ([]questions.Row, error) {
	sql := newQuestion(s.cluster)
	sql.addFirst(q, from.Filter)
	return s.readRows(ctx, sql, freePlans)
}

// addFirst selects the first rows of a query: results x that meet a condition, with their reports r, and v and s where
// the condition or the order has fields of these.
func (q *question) addFirst(of *engine.OrderQuery, f *engine.Filter) {
	reports, others := f.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartReport })
	q.WriteString("SELECT " + pageColumns + " FROM ")
	q.addReportResults(reports, confined(f))
	q.joinParts(others.Parts()|of.OrderBy.Part(), confined(f))
	q.WriteString(" WHERE true")
	q.Where(others, dialect.Of)
	q.AddOrder(of)
}
