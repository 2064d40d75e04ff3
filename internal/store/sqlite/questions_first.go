// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"container/heap"
	"context"
	"database/sql/driver"
	"encoding/json"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// Results are put in order here and not in SQL: SQLite keeps whole rows while it sorts, and compares values by a program
// of its own for each pair. What is kept here is where the best of the rows are that were seen so far; their texts are read at the end.

// First implements engine.Questions.
func (e *Engine) First(ctx context.Context, q engine.OrderQuery) (engine.RowPage, error) {
	err := q.Check()
	var page engine.RowPage
	if err == nil {
		err = e.ask(ctx, q.Cluster, func(s *asked) (err error) {
			page, err = s.first(q)
			page.State = s.state
			return err
		})
	}
	if err != nil {
		return engine.RowPage{}, classify("read results in order", err)
	}
	return page, nil
}

// orderedRow is a row of table result by its key, and where it is in an order.
type orderedRow struct {
	engine.OrderPlace

	object, position int64
}

// best keeps the first rows of those that it is given. It is a heap with the last of these at the top.
type best struct {
	q    *engine.OrderQuery
	rows []orderedRow
}

func (b *best) Len() int { return len(b.rows) }

func (b *best) Less(i, j int) bool {
	return b.q.Compare(&b.rows[i].OrderPlace, &b.rows[j].OrderPlace) > 0
}

func (b *best) Swap(i, j int) { b.rows[i], b.rows[j] = b.rows[j], b.rows[i] }

// Push implements heap.Interface.
func (b *best) Push(row any) { b.rows = append(b.rows, row.(orderedRow)) }

// Pop implements heap.Interface; nothing is taken from the top but by add, which puts another row there.
func (b *best) Pop() any {
	last := len(b.rows) - 1
	row := b.rows[last]
	b.rows = b.rows[:last]
	return row
}

// add keeps a row if it is behind the place where the page begins, and among the first of Limit + 1.
func (b *best) add(row *orderedRow) {
	if b.q.After != nil && b.q.Compare(&row.OrderPlace, b.q.After) <= 0 {
		return
	}
	if len(b.rows) <= b.q.Limit {
		heap.Push(b, *row)
		return
	}
	if b.q.Compare(&row.OrderPlace, &b.rows[0].OrderPlace) < 0 {
		b.rows[0] = *row
		heap.Fix(b, 0)
	}
}

// inOrder returns the rows that were kept.
func (b *best) inOrder() []orderedRow {
	slices.SortFunc(b.rows, func(x, y orderedRow) int { return b.q.Compare(&x.OrderPlace, &y.OrderPlace) })
	return b.rows
}

// first answers a query.
func (s *asked) first(q engine.OrderQuery) (engine.RowPage, error) {
	var err error
	if q.Filter, err = questions.Weigh(s.ctx, s, q.Kinds, q.Namespace, q.Filter); err != nil {
		return engine.RowPage{}, err
	}
	windows, few, err := questions.Windows(s.ctx, s, engine.CountQuery{Kinds: q.Kinds, Namespace: q.Namespace, Filter: q.Filter})
	if err != nil {
		return engine.RowPage{}, err
	}
	in := ""
	if few {
		if in, err = s.windows(windows); err != nil {
			return engine.RowPage{}, err
		}
	}
	filter := engine.Both(q.Filter, questions.InScope(q.Kinds, q.Namespace))
	kept := best{q: &q}
	var sql sqlText
	sql.addOrdered(s.cluster, in, filter, q.OrderBy)
	if err := s.scan(kept.scanner(), sql.String(), sql.args...); err != nil {
		return engine.RowPage{}, err
	}
	rows := kept.inOrder()
	page := engine.RowPage{More: len(rows) > q.Limit}
	whole, err := s.rowsAt(rows[:min(len(rows), q.Limit)])
	if err == nil && q.Twins {
		page.Twins, err = questions.TwinsOf(s.ctx, s, whole)
	}
	page.Rows = questions.ResultRows(whole)
	return page, err
}

// scanner takes the rows of addOrdered.
func (b *best) scanner() func(row []driver.Value) error {
	var next orderedRow
	return func(row []driver.Value) error {
		if row[0] != nil { // The first row of a report.
			scan(row, &next.object, &next.Report.Namespace, &next.Report.Kind, &next.Report.Name)
		}
		row = row[orderedReportColumns:]
		if row[0].(int64) == 0 {
			return nil
		}
		next.position, next.Seconds, next.Index = row[1].(int64), row[2].(int64), int32(row[3].(int64))
		next.SubjectID, _ = row[4].(int64)
		next.Text = text(row[5])
		b.add(&next)
		return nil
	}
}

// rowsAt returns rows as a whole, in their order.
func (s *asked) rowsAt(rows []orderedRow) ([]questions.Row, error) {
	keys := make([][2]int64, len(rows))
	for i := range rows {
		keys[i] = [...]int64{rows[i].object, rows[i].position}
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	var sql sqlText
	sql.addRowsAt(s.cluster, string(list))
	return s.readRows(&sql)
}
