// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// Results are put in order here and not in SQL: SQLite keeps whole rows while it sorts, and compares values by a
// program of its own for each pair. What is kept here is where the best of the rows are that were seen so far; their
// texts are read at the end.

// orderedRow is a row of table result by its key, and where it is in an order.
type orderedRow struct {
	engine.OrderPlace

	object, position int64
}

// topRows keeps the first Limit + 1 of the rows added to it: it gathers twice as many before it sorts them.
type topRows struct {
	q    *engine.OrderQuery
	rows []orderedRow
	// last is the last row of a sorted page: rows behind it are not added.
	last *engine.OrderPlace
}

// add keeps a row if it is behind the place where the page begins, and may be among the first.
func (t *topRows) add(row *orderedRow) {
	if t.q.After != nil && t.q.Compare(&row.OrderPlace, t.q.After) <= 0 || t.last != nil && t.q.Compare(&row.OrderPlace, t.last) >= 0 {
		return
	}
	if t.rows = append(t.rows, *row); len(t.rows) > 2*t.q.Limit+1 {
		last := t.inOrder()[t.q.Limit].OrderPlace
		t.last = &last
	}
}

// inOrder sorts the rows, drops those beyond Limit + 1, and returns the others.
func (t *topRows) inOrder() []orderedRow {
	slices.SortFunc(t.rows, func(a, b orderedRow) int { return t.q.Compare(&a.OrderPlace, &b.OrderPlace) })
	t.rows = t.rows[:min(len(t.rows), t.q.Limit+1)]
	return t.rows
}

// First implements questions.Tables.
func (s *resultReader) First(_ context.Context, q *engine.OrderQuery, from questions.Selection) ([]questions.Row, error) {
	in, err := s.windowsOf(from)
	if err != nil {
		return nil, err
	}
	kept := topRows{q: q}
	var sql sqlText
	sql.addOrdered(s.cluster, in, from.Filter, q.OrderBy)
	if err := s.scan(kept.scanner(), sql.String(), sql.args...); err != nil {
		return nil, err
	}
	return s.rowsAt(kept.inOrder())
}

// scanner takes the rows of addOrdered.
func (t *topRows) scanner() func(row []driver.Value) error {
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
		t.add(&next)
		return nil
	}
}

// rowsAt returns rows as a whole, in their order.
func (s *resultReader) rowsAt(rows []orderedRow) ([]questions.Row, error) {
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

// orderedReportColumns is the number of columns of addOrdered that say which report a row is of. They are null except
// in the first row of each report.
const orderedReportColumns = 4

// addOrdered selects all results in some windows, "" for everywhere, that meet a condition, and always the first one of
// each report, so that rows keep coming: whether it meets the condition, its position, time, index and subject, and the
// text of a field.
func (t *sqlText) addOrdered(cluster int64, windows string, filter *engine.Filter, by engine.Field) {
	var parts engine.Part
	field := "''"
	if by != engine.FieldSeconds {
		parts, field = by.Part(), fieldColumns.Of(by)
	}
	t.addEach(cluster, windows, filter, true, parts, func(meets string) string {
		return "iif(x.position = 0, x.object, NULL), iif(x.position = 0, r.namespace, NULL), iif(x.position = 0, r.kind, NULL), " +
			"iif(x.position = 0, r.name, NULL), " + cmp.Or(meets, "1") + ", x.position, x.seconds, x.idx, coalesce(x.subject, r.scope), " + field
	})
}

// addRowsAt selects rows by their objects and positions, a list in JSON, in the order of the list. They have
// pageColumns.
func (t *sqlText) addRowsAt(cluster int64, keys string) {
	t.args = append(t.args, keys, cluster)
	t.WriteString("SELECT " + pageColumns + ` FROM json_each(?1) AS w
CROSS JOIN result AS x ON x.cluster = ?2 AND x.object = w.value ->> 0 AND x.position = w.value ->> 1
CROSS JOIN report AS r ON r.cluster = ?2 AND r.object = x.object`)
}
