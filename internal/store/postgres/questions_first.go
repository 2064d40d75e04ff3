// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// First implements questions.Tables.
func (s *resultReader) First(ctx context.Context, q *engine.OrderQuery, from questions.Selection) ([]questions.Row, error) {
	sql := newQuestion(s.cluster)
	sql.addFirst(q, from.Filter)
	return s.readRows(ctx, sql, freePlans)
}

// orderKey is an expression that rows are ordered by, and its value in the row that they are to be behind.
type orderKey struct {
	sql        string
	descending bool
	after      any
}

// orderKeys are those of OrderQuery.Compare.
func orderKeys(of *engine.OrderQuery) []orderKey {
	var after engine.OrderPlace
	if of.After != nil {
		after = *of.After
	}
	// Rows without a time are behind the others in both directions.
	times := func(descending bool) []orderKey {
		timeless := 0
		if after.Seconds == 0 {
			timeless = 1
		}
		return []orderKey{{"CASE WHEN x.seconds = 0 THEN 1 ELSE 0 END", false, timeless}, {"x.seconds", descending, after.Seconds}}
	}
	var keys []orderKey
	switch of.OrderBy {
	case engine.FieldSeconds:
		keys = times(of.Descending)
	case engine.FieldSeverity:
		keys = append([]orderKey{{severityRank(fieldColumns.Of(of.OrderBy)), of.Descending, engine.SeverityRank(after.Text)}}, times(true)...)
	default:
		keys = append([]orderKey{{fieldColumns.Of(of.OrderBy) + ` COLLATE "C"`, of.Descending, after.Text}}, times(true)...)
	}
	return append(keys,
		orderKey{`r.namespace COLLATE "C"`, false, after.Report.Namespace}, orderKey{`r.kind COLLATE "C"`, false, after.Report.Kind},
		orderKey{`r.name COLLATE "C"`, false, after.Report.Name}, orderKey{"x.idx", false, int64(after.Index)},
		orderKey{"coalesce(x.subject, 0)", false, after.SubjectID},
	)
}

// severityRank is engine.SeverityRank in SQL.
func severityRank(column string) string {
	var sql strings.Builder
	sql.WriteString("CASE " + column)
	for rank, severity := range engine.Severities() {
		fmt.Fprintf(&sql, " WHEN '%s' THEN %d", severity, rank)
	}
	fmt.Fprintf(&sql, " ELSE %d END", len(engine.Severities()))
	return sql.String()
}

// addFirst selects the first rows in an order, one more than the limit. They have pageColumns, and the keys behind
// these.
func (q *question) addFirst(of *engine.OrderQuery, f *engine.Filter) {
	keys := orderKeys(of)
	q.WriteString("SELECT " + pageColumns)
	for i, key := range keys {
		q.WriteString(", " + key.sql + " AS key_" + strconv.Itoa(i))
	}
	q.WriteString(" FROM ")
	q.addOrdered(of.OrderBy.Part(), f)
	if of.After != nil {
		q.WriteString(" AND ")
		q.behind(keys)
	}
	q.sortBy(keys)
	q.add(" LIMIT ", of.Limit+1)
}

// sortBy appends an order by keys, which are selected.
func (q *question) sortBy(keys []orderKey) {
	for i, key := range keys {
		q.WriteString([]string{" ORDER BY ", ", "}[min(i, 1)] + "key_" + strconv.Itoa(i))
		if key.descending {
			q.WriteString(" DESC")
		}
	}
}

// behind appends that a row is behind the one that the keys have the values of.
func (q *question) behind(keys []orderKey) {
	for i, key := range keys {
		operator := " > "
		if key.descending {
			operator = " < "
		}
		value := q.bind(key.after)
		q.WriteString("(" + key.sql + operator + value)
		if i < len(keys)-1 {
			q.WriteString(" OR " + key.sql + " = " + value + " AND ")
		}
	}
	q.WriteString(strings.Repeat(")", len(keys)))
}

// addOrdered appends the results x that meet a condition, with their reports r, and v and s where the condition or the
// order has fields of these.
func (q *question) addOrdered(by engine.Part, f *engine.Filter) {
	reports, others := f.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartReport })
	q.addReportResults(reports, confined(f))
	q.joinParts(others.Parts()|by, confined(f))
	q.WriteString(" WHERE true")
	q.where(others, fieldColumns.Of)
}
