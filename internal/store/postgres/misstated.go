// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// Misstated implements engine.Questions.
func (e *Engine) Misstated(ctx context.Context, q engine.MisstatedQuery) (engine.MisstatedPage, error) {
	const what = "compare summaries with results"
	if err := q.Check(); err != nil {
		return engine.MisstatedPage{}, fmt.Errorf("%s: %w", what, err)
	}
	var page engine.MisstatedPage
	err := e.ask(ctx, what, "", func(ctx context.Context, s *asked) error {
		found, err := s.misstated(ctx, &q)
		page = q.Page(found, s.state)
		return err
	})
	if err != nil {
		return engine.MisstatedPage{}, err
	}
	return page, nil
}

// misstated returns one report more than the limit, if there is one.
func (s *asked) misstated(ctx context.Context, q *engine.MisstatedQuery) ([]engine.Misstated, error) {
	if q.Namespace != nil && !isText(*q.Namespace) {
		return nil, nil
	}
	sql := newQuestion(s.cluster)
	sql.addMisstated(q)
	rows, err := s.query(ctx, sql, fixedPlans)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (report engine.Misstated, err error) {
		return report, row.Scan(report.Fields()...)
	})
}

// addMisstated selects reports with what they state and what their entries say. Entries are counted report by report, and OFFSET 0 keeps
// what is right from being sorted.
func (q *question) addMisstated(of *engine.MisstatedQuery) {
	var stated, held, counts []string
	for _, outcome := range new(engine.Outcomes).Counts() {
		stated = append(stated, "r."+outcome.Outcome)
		held = append(held, "h.held_"+outcome.Outcome)
		counts = append(counts, "count(DISTINCT x.idx) FILTER (WHERE v.result = "+q.bind(outcome.Outcome)+") AS held_"+outcome.Outcome)
	}
	q.add(`SELECT * FROM (
SELECT r.namespace COLLATE "C", r.kind COLLATE "C", r.name COLLATE "C", r.uid, r.created_at, `+strings.Join(append(stated, held...), ", ")+`
FROM docket.report r CROSS JOIN LATERAL (
	SELECT `+strings.Join(counts, ", ")+` FROM (`+resultsOfReport+`) x
	CROSS JOIN LATERAL (SELECT y.result FROM docket.verdict y WHERE y.cluster = $1 AND y.id = x.verdict LIMIT 1) v
) h
WHERE (r.namespace COLLATE "C", r.kind COLLATE "C", r.name COLLATE "C") > (`, of.After.Namespace, ", ", of.After.Kind, ", ", of.After.Name, ") AND r.cluster = $1")
	q.where(engine.Both(of.Filter, questions.InScope(of.Kinds, of.Namespace)), fieldColumns.Of)
	q.add(" AND ("+strings.Join(stated, ", ")+") <> ("+strings.Join(held, ", ")+") OFFSET 0\n) m ORDER BY 1, 2, 3 LIMIT ", of.Limit+1)
}
