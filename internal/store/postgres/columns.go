// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// table is a table that rows of T are written to.
type table[T any] struct {
	columns []engine.Column[T]
	// parameters are the names of the arrays with the values of the columns.
	parameters []string
}

// Tables of what is derived from reports.
var (
	reportTable  = newTable("report_", engine.ReportColumns)
	verdictTable = newTable("verdict_", engine.VerdictColumns)
	subjectTable = newTable("subject_", engine.SubjectColumns)
)

// newTable returns a table whose parameters have the names of the columns after a prefix.
func newTable[T any](prefix string, columns []engine.Column[T]) *table[T] {
	t := &table[T]{columns, make([]string, len(columns))}
	for i, column := range columns {
		t.parameters[i] = prefix + column.Name
	}
	return t
}

func (t *table[T]) list(prefix string) string { return engine.ColumnList(t.columns, prefix) }

// arrays returns the parameters as arguments of unnest.
func (t *table[T]) arrays() string {
	arrays := make([]string, len(t.columns))
	for i, column := range t.columns {
		kind := "text"
		switch column.Field(new(T)).(type) {
		case *int64:
			kind = "int8"
		case *bool:
			kind = "bool"
		}
		arrays[i] = "@" + t.parameters[i] + "::" + kind + "[]"
	}
	return strings.Join(arrays, ", ")
}

// rowArrays are rows as arrays, one for each column of their table, of which unnest makes rows again.
type rowArrays[T any] []columnArray

// columnArray has the values of a column, in the array of its type.
type columnArray struct {
	texts   []string
	numbers []int64
	flags   []bool
}

// add appends a row.
func (a *rowArrays[T]) add(t *table[T], row *T) {
	if *a == nil {
		*a = make(rowArrays[T], len(t.columns))
	}
	for i := range t.columns {
		values := &(*a)[i]
		switch field := t.columns[i].Field(row).(type) {
		case *string:
			values.texts = append(values.texts, text(*field))
		case *engine.JSON:
			values.texts = append(values.texts, jsonText(string(*field)))
		case *int64:
			values.numbers = append(values.numbers, *field)
		case *bool:
			values.flags = append(values.flags, *field)
		}
	}
}

// set gives the parameters their values: NULL, of which unnest makes no rows, where there are none.
func (a rowArrays[T]) set(t *table[T], args *arguments) {
	for i, parameter := range t.parameters {
		switch {
		case a == nil:
			args.set(parameter, nil)
		case a[i].texts != nil:
			args.set(parameter, a[i].texts)
		case a[i].numbers != nil:
			args.set(parameter, a[i].numbers)
		default:
			args.set(parameter, a[i].flags)
		}
	}
}
