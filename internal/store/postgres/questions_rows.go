// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// readRows returns the rows that a statement selects whose first columns are pageColumns, in its order.
func (s *asked) readRows(ctx context.Context, q *question, how planning) ([]questions.Row, error) {
	rows, err := s.query(ctx, q, how)
	if err != nil {
		return nil, err
	}
	page, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n questions.Numbers, err error) {
		var subject *int64
		fields := []any{&n.Object, &n.Index, &n.Seconds, &n.Verdict, &subject}
		err = row.Scan(append(fields, make([]any, len(row.FieldDescriptions())-len(fields))...)...)
		if subject != nil {
			n.Subject = *subject
		}
		return n, err
	})
	if err != nil || len(page) == 0 {
		return nil, err
	}
	if err := s.share(ctx, page); err != nil {
		return nil, err
	}
	return s.shared.Rows(page)
}

// share reads what some rows refer to, unless it was read in this snapshot already: in one round trip.
func (s *asked) share(ctx context.Context, page []questions.Numbers) error {
	if err := s.plan(ctx, fixedPlans); err != nil {
		return err
	}
	reports, verdicts, subjects := s.shared.Want(page)
	var batch pgx.Batch
	shareInto(s, &batch, reportsByNumber, reports, s.shared.Reports, func(r *engine.ReportRow) []any {
		return []any{&r.Namespace, &r.Kind, &r.Name, &r.UID, &r.CreatedAt}
	})
	shareInto(s, &batch, verdictsByNumber, verdicts, s.shared.Verdicts, verdictTable.fields)
	shareInto(s, &batch, subjectsByNumber, subjects, s.shared.Subjects, subjectTable.fields)
	if batch.Len() == 0 {
		return nil
	}
	return s.tx.SendBatch(ctx, &batch).Close()
}

// shareInto adds a statement that reads what some numbers are of into a map. fields are where a row's columns go.
func shareInto[T any](s *asked, batch *pgx.Batch, sql string, numbers []int64, all map[int64]*T, fields func(*T) []any) {
	if len(numbers) == 0 {
		return
	}
	batch.Queue(sql, s.cluster, numbers).Query(func(rows pgx.Rows) error {
		var number int64
		for rows.Next() {
			out := new(T)
			if err := rows.Scan(append([]any{&number}, fields(out)...)...); err != nil {
				return err
			}
			all[number] = out
		}
		return rows.Err()
	})
}
