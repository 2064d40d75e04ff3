// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// Dialect is how an engine writes statements.
type Dialect struct {
	Columns
	// Placeholder returns the placeholder of the n-th parameter, from 1.
	Placeholder func(n int, value any) string
	// Position and Ends are as in engine.Dialect.
	Position, Ends func(text, other string) string
	// Storable returns a filter without the texts that no row can have; nil where rows can have all.
	Storable func(*engine.Filter) *engine.Filter
	// Collation goes behind a text that is compared byte for byte, and Subject is the number of a row's subject, or null.
	Collation, Subject string
}

// Statement is one under way. Its tables have the names that Columns says.
type Statement struct {
	strings.Builder

	Dialect *Dialect
	Args    []any
}

// Add appends SQL and parameters in turns.
func (s *Statement) Add(parts ...any) {
	for i, part := range parts {
		if i%2 == 0 {
			s.WriteString(part.(string))
		} else {
			s.WriteString(s.Bind(part))
		}
	}
}

// Bind returns the placeholder of a parameter.
func (s *Statement) Bind(value any) string {
	if n, ok := value.(int); ok {
		value = int64(n)
	}
	s.Args = append(s.Args, value)
	return s.Dialect.Placeholder(len(s.Args), value)
}

// Where appends a condition on columns.
func (s *Statement) Where(f *engine.Filter, column func(engine.Field) string) {
	if f == nil {
		return
	}
	if s.Dialect.Storable != nil {
		f = s.Dialect.Storable(f)
	}
	s.WriteString(" AND (" + f.SQL(engine.Dialect{
		Column: s.Column(column), Bind: s.Bind, Position: s.Dialect.Position, Ends: s.Dialect.Ends,
	}) + ")")
}

// Column returns a function that returns the SQL of properties, and else what column does.
func (s *Statement) Column(column func(engine.Field) string) func(engine.Field) string {
	return func(field engine.Field) string {
		if name, ok := field.Property(); ok {
			return s.Dialect.Property(name, s.Bind)
		}
		return column(field)
	}
}

// Columns says where statements have the fields of a result. Their tables have these names: r is report, v verdict, s
// subject, x result, t tally and o outcome. What engines write in their own way are functions of their dialect.
type Columns struct {
	// Bool returns the SQL for a column that is a truth value as the text "true" or "false".
	Bool func(column string) string
	// Message is the SQL of a message with the names of the resource in their places, and Template that of FieldTemplate.
	Message, Template string
	// Property returns the SQL of a property of the verdict, "" where it has none. Names are people's texts, and bound.
	Property func(name string, bind func(value any) string) string
	// Day is the SQL of FieldDay, in engines that group in SQL.
	Day string
}

// placeColumns and subjectColumns are the columns of fields in a report or its counter, and in a subject. Those of
// verdicts have the names of their fields.
var (
	placeColumns = map[engine.Field]string{
		engine.FieldNamespace: "namespace", engine.FieldReportKind: "kind", engine.FieldReport: "name", engine.FieldReportUID: "uid",
		engine.FieldCreated: "created_at",
	}
	subjectColumns = map[engine.Field]string{
		engine.FieldSubjectAPIVersion: "s.api_version", engine.FieldSubjectKind: "s.kind", engine.FieldSubjectNamespace: "s.namespace",
		engine.FieldSubjectName: "s.name", engine.FieldSubjectUID: "s.uid",
	}
)

// Of returns the column of a field in a result row, which may have no subject.
func (c *Columns) Of(field engine.Field) string {
	if field == engine.FieldMessage {
		return c.Message
	}
	if column, ok := subjectColumns[field]; ok {
		return "coalesce(" + column + ", '')"
	}
	return c.Stored(field)
}

// Stored returns the column of a field as a table has it. A message is a template there.
func (c *Columns) Stored(field engine.Field) string {
	if column, ok := subjectColumns[field]; ok {
		return column
	}
	if column, ok := placeColumns[field]; ok {
		return "r." + column
	}
	switch field {
	case engine.FieldSeconds:
		return "x.seconds"
	case engine.FieldDay:
		return c.Day
	case engine.FieldTemplate:
		return c.Template
	default:
		return c.verdict("v.", field)
	}
}

// Counted returns the column of a field in a counter.
func (c *Columns) Counted(field engine.Field) string {
	if column, ok := placeColumns[field]; ok {
		return "t." + column
	}
	return c.verdict("o.", field)
}

// verdict returns the column of a verdict or of an outcome.
func (c *Columns) verdict(prefix string, field engine.Field) string {
	if field == engine.FieldScored {
		return c.Bool(prefix + "scored")
	}
	return prefix + string(field)
}
