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
func (s *resultReader) readRows(ctx context.Context, q *question, how planning) ([]questions.Row, error) {
	rows, err := s.query(ctx, q, how)
	if err != nil {
		return nil, err
	}
	var row pageRow
	// The columns behind pageColumns are for the statement itself.
	fields := append(row.fields(), make([]any, len(rows.FieldDescriptions())-pageWidth)...)
	var page []questions.Numbers
	if _, err := pgx.ForEachRow(rows, fields, func() error {
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
func shareInto[T any](s *resultReader, batch *pgx.Batch, sql string, numbers []int64, all map[int64]*T, fields func(*T) []any) {
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
