// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/questions"
)

// readRows returns the rows that a statement with pageColumns selects, in its order.
func (s *resultReader) readRows(ctx context.Context, q *question, how planning) ([]questions.Row, error) {
	rows, err := s.query(ctx, q, how)
	if err != nil {
		return nil, err
	}
	var row pageRow
	var page []questions.Numbers
	if _, err := pgx.ForEachRow(rows, row.fields(), func() error {
		page = append(page, row.numbers())
		return nil
	}); err != nil {
		return nil, err
	}
	return s.rowsOf(ctx, page)
}

// pageRow takes pageColumns.
type pageRow struct {
	questions.Numbers

	subject *int64
}

func (r *pageRow) fields() []any {
	return []any{&r.Object, &r.Index, &r.Seconds, &r.Verdict, &r.Ordinal, &r.subject}
}

func (r *pageRow) numbers() questions.Numbers {
	n := r.Numbers
	if r.subject != nil {
		n.Subject = *r.subject
	}
	return n
}

// rowsOf adds what rows refer to.
func (s *resultReader) rowsOf(ctx context.Context, page []questions.Numbers) ([]questions.Row, error) {
	if len(page) == 0 {
		return nil, nil
	}
	if err := s.share(ctx, page); err != nil {
		return nil, err
	}
	return s.shared.Rows(page)
}

// share reads what some rows refer to, unless it was read in this snapshot already: in one round trip.
func (s *resultReader) share(ctx context.Context, page []questions.Numbers) error {
	if err := s.plan(ctx, fixedPlans); err != nil {
		return err
	}
	var batch pgx.Batch
	for _, missing := range s.shared.Missing(page) {
		batch.Queue(byNumber[missing.Table], s.cluster, missing.Numbers).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := missing.Take(rows.Scan); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	if batch.Len() == 0 {
		return nil
	}
	return s.tx.SendBatch(ctx, &batch).Close()
}
