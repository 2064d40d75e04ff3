// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import "github.com/docket-project/docket/internal/store/engine"

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

// Binding returns a function that returns what column does, and the SQL of properties.
func (c *Columns) Binding(column func(engine.Field) string, bind func(value any) string) func(engine.Field) string {
	return func(field engine.Field) string {
		if name, ok := field.Property(); ok {
			return c.Property(name, bind)
		}
		return column(field)
	}
}

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
