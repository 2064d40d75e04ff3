// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// Misstated implements engine.Questions.
func (e *Engine) Misstated(ctx context.Context, q engine.MisstatedQuery) (engine.MisstatedPage, error) {
	err := q.Check()
	var page engine.MisstatedPage
	if err == nil {
		err = e.ask(ctx, "", func(s *asked) error {
			found, err := s.misstated(&q)
			page = q.Page(found, s.state)
			return err
		})
	}
	if err != nil {
		return engine.MisstatedPage{}, classify("compare summaries with results", err)
	}
	return page, nil
}

// misstated returns one report more than the limit, if there is one.
func (s *asked) misstated(q *engine.MisstatedQuery) ([]engine.Misstated, error) {
	var sql sqlText
	sql.addMisstated(s.cluster, q)
	var found []engine.Misstated
	err := s.scan(func(row []driver.Value) error {
		var report engine.Misstated
		scan(row, report.Fields()...)
		found = append(found, report)
		return nil
	}, sql.String(), sql.args...)
	return found, err
}

// addMisstated selects reports with what they state and what their entries say. Rows of a report are next to each other in the primary
// keys, so that only what is found is sorted.
func (t *sqlText) addMisstated(cluster int64, q *engine.MisstatedQuery) {
	var stated, held, counts []string
	for _, outcome := range new(engine.Outcomes).Counts() {
		stated = append(stated, "r."+outcome.Outcome)
		held = append(held, "held_"+outcome.Outcome)
		counts = append(counts, "count(DISTINCT iif(v.result = "+t.bind(outcome.Outcome)+", x.idx, NULL)) AS held_"+outcome.Outcome)
	}
	t.add("SELECT r.namespace, r.kind, r.name, r.uid, r.created_at, "+strings.Join(stated, ", ")+", "+strings.Join(counts, ", ")+
		"\nFROM report AS r LEFT JOIN result AS x ON x.cluster = r.cluster AND x.object = r.object"+
		"\nLEFT JOIN verdict AS v ON v.cluster = r.cluster AND v.id = x.verdict"+
		"\nWHERE (r.namespace, r.kind, r.name) > (", q.After.Namespace, ", ", q.After.Kind, ", ", q.After.Name, ") AND r.cluster = ", cluster)
	t.where(engine.Both(q.Filter, questions.InScope(q.Kinds, q.Namespace)), fieldColumns.Of)
	t.add("\nGROUP BY r.cluster, r.object HAVING ("+strings.Join(stated, ", ")+") <> ("+strings.Join(held, ", ")+
		")\nORDER BY r.namespace, r.kind, r.name LIMIT ", q.Limit+1)
}
