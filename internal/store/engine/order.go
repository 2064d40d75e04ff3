// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxOrdered is the largest limit of an OrderQuery: databases keep that many rows in memory while they read.
const MaxOrdered = 1000

// OrderQuery asks for the first rows in an order. Reports know no order of their results' fields, so that all rows that
// the filter selects are read for each page.
type OrderQuery struct {
	// Cluster is as in CountQuery.
	Cluster string
	// Kinds, Namespace and Filter are as in RowQuery.
	Kinds     []ReportKind
	Namespace *string
	Filter    *Filter
	// OrderBy is one of Orders. Severities are in the order of SeverityRank, other texts in the order of their bytes.
	// Descending reverses the order, but rows without a time are always behind those with one. Rows that are equal in
	// it are ordered by time, the newest first, and then as [Questions.Rows] has them.
	OrderBy    Field
	Descending bool
	// After is the place behind which rows are wanted; nil for the beginning.
	After *OrderPlace
	// Limit is the largest number of rows, MaxOrdered at most. Positive.
	Limit int
}

// OrderPlace says where a row is in an order.
type OrderPlace struct {
	// Text is the text of the field OrderQuery.OrderBy; "" if that is FieldSeconds.
	Text    string
	Seconds int64
	Report  ReportPlace
	Index   int32
	// SubjectID is Subject.ID, 0 for none.
	SubjectID int64
	// Ordinal is ResultRow.Ordinal: an entry of a report may name a resource twice.
	Ordinal int32
}

// Orders returns the fields that results can be put in order by.
func Orders() []Field {
	return []Field{
		FieldSeconds, FieldSeverity, FieldResult, FieldSource, FieldPolicy, FieldRule, FieldCategory, FieldNamespace,
		FieldSubjectKind, FieldSubjectNamespace, FieldSubjectName,
	}
}

// Severities returns the severities that have a rank, the worst first.
func Severities() []string { return []string{"critical", "high", "medium", "low", "info"} }

// SeverityRank returns where a severity is in an order, from 0; any other text, and none, is behind those that have a
// rank.
func SeverityRank(severity string) int {
	if i := slices.Index(Severities(), severity); i >= 0 {
		return i
	}
	return len(Severities())
}

// Check returns an error if no engine could answer the query.
func (q *OrderQuery) Check() error {
	switch {
	case !slices.Contains(Orders(), q.OrderBy):
		return fmt.Errorf("results can't be ordered by %q", q.OrderBy)
	case q.Limit <= 0 || q.Limit > MaxOrdered:
		return fmt.Errorf("the limit of rows is not from 1 to %d", MaxOrdered)
	case q.After != nil && !q.After.Storable():
		return errors.New("the place to continue after has texts that no row can have")
	}
	return checkScope(q.Kinds, q.Filter)
}

// Storable reports whether all engines can compare with the texts of the place.
func (p *OrderPlace) Storable() bool {
	for _, text := range []string{p.Text, p.Report.Namespace, p.Report.Kind, p.Report.Name} {
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			return false
		}
	}
	return true
}

// Compare returns how two places stand to each other in the order that the query asks for.
func (q *OrderQuery) Compare(a, b *OrderPlace) int {
	var order int
	switch q.OrderBy {
	case FieldSeconds:
		if order = compareTimes(a.Seconds, b.Seconds, q.Descending); order != 0 {
			return order
		}
	case FieldSeverity:
		order = cmp.Compare(SeverityRank(a.Text), SeverityRank(b.Text))
	default:
		order = strings.Compare(a.Text, b.Text)
	}
	if q.Descending {
		order = -order
	}
	if order == 0 {
		order = compareTimes(a.Seconds, b.Seconds, true)
	}
	if order != 0 { // The rest costs more, and few rows need it.
		return order
	}
	return cmp.Or(a.Report.Compare(b.Report), cmp.Compare(a.Index, b.Index), cmp.Compare(a.SubjectID, b.SubjectID),
		cmp.Compare(a.Ordinal, b.Ordinal))
}

// compareTimes orders Unix seconds. 0 is no time, and behind all others.
func compareTimes(a, b int64, newestFirst bool) int {
	switch {
	case a == b:
		return 0
	case a == 0:
		return 1
	case b == 0:
		return -1
	case newestFirst:
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

// Place returns where a row is in the order of the query. text returns the texts of its fields.
func (q *OrderQuery) Place(row *ResultRow, text func(Field) string) OrderPlace {
	place := OrderPlace{Seconds: row.Seconds, Report: row.Report.ReportPlace, Index: row.Index, Ordinal: row.Ordinal}
	if q.OrderBy != FieldSeconds {
		place.Text = text(q.OrderBy)
	}
	if row.Subject != nil {
		place.SubjectID = row.Subject.ID()
	}
	return place
}
