// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"fmt"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// AddOrder ends a statement that selects results, with at least one condition, so that it returns the first rows of the
// query, one more than its limit.
func (s *Statement) AddOrder(of *engine.OrderQuery) {
	keys := s.orderKeys(of)
	if of.After != nil {
		s.WriteString(" AND ")
		s.behind(keys)
	}
	for i, key := range keys {
		s.WriteString([]string{" ORDER BY ", ", "}[min(i, 1)] + key.sql)
		if key.descending {
			s.WriteString(" DESC")
		}
	}
	s.Add(" LIMIT ", of.Limit+1)
}

// orderKey is an expression that rows are ordered by, and its value in the row that they are to be behind.
type orderKey struct {
	sql        string
	descending bool
	after      any
}

// orderKeys are those of OrderQuery.Compare.
func (s *Statement) orderKeys(of *engine.OrderQuery) []orderKey {
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
		keys = append([]orderKey{{severityRank(s.Dialect.Of(of.OrderBy)), of.Descending, engine.SeverityRank(after.Text)}}, times(true)...)
	default:
		keys = append([]orderKey{{s.Dialect.Of(of.OrderBy) + s.Dialect.Collation, of.Descending, after.Text}}, times(true)...)
	}
	return append(keys,
		orderKey{"r.namespace" + s.Dialect.Collation, false, after.Report.Namespace}, orderKey{"r.kind" + s.Dialect.Collation, false, after.Report.Kind},
		orderKey{"r.name" + s.Dialect.Collation, false, after.Report.Name}, orderKey{"x.idx", false, int64(after.Index)},
		orderKey{"coalesce(" + s.Dialect.Subject + ", 0)", false, after.SubjectID},
		orderKey{"x.ordinal", false, int64(after.Ordinal)},
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

// behind appends that a row is behind the one that the keys have the values of.
func (s *Statement) behind(keys []orderKey) {
	for i, key := range keys {
		operator := " > "
		if key.descending {
			operator = " < "
		}
		value := s.Bind(key.after)
		s.WriteString("(" + key.sql + operator + value)
		if i < len(keys)-1 {
			s.WriteString(" OR " + key.sql + " = " + value + " AND ")
		}
	}
	s.WriteString(strings.Repeat(")", len(keys)))
}
