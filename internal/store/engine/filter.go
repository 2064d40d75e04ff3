// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Field names what a result row can be selected, grouped and ordered by. The texts are what people write in field
// selectors and queries.
type Field string

// The fields of a result row. A row that is about no resource has the empty text in all fields of the subject.
const (
	FieldNamespace         Field = "report.namespace"
	FieldReportKind        Field = "report.kind"
	FieldReport            Field = "report.name"
	FieldReportUID         Field = "report.uid"
	FieldCreated           Field = "report.created" // When the report was made, in Unix seconds, 0 for unknown.
	FieldSource            Field = "source"
	FieldPolicy            Field = "policy"
	FieldRule              Field = "rule"
	FieldCategory          Field = "category"
	FieldSeverity          Field = "severity"
	FieldResult            Field = "result"
	FieldScored            Field = "scored"  // "true" or "false"
	FieldMessage           Field = "message" // With the names of the resource in their places.
	FieldSubjectAPIVersion Field = "subject.apiVersion"
	FieldSubjectKind       Field = "subject.kind"
	FieldSubjectNamespace  Field = "subject.namespace"
	FieldSubjectName       Field = "subject.name"
	FieldSubjectUID        Field = "subject.uid"
	// FieldSeconds is the time of the result in Unix seconds, 0 for none.
	FieldSeconds Field = "timestamp"
)

// IsNumber reports whether a field is a number, which is compared with Filter.Number, and with nothing else.
func (f Field) IsNumber() bool { return f == FieldSeconds || f == FieldCreated }

// Fields returns all fields but properties, in the order of the columns of the view policy_results.
func Fields() []Field {
	return []Field{
		FieldNamespace, FieldReportKind, FieldReport, FieldReportUID, FieldCreated, FieldSource, FieldPolicy, FieldRule, FieldCategory, FieldSeverity,
		FieldResult, FieldScored, FieldSubjectAPIVersion, FieldSubjectKind, FieldSubjectNamespace, FieldSubjectName, FieldSubjectUID,
		FieldMessage, FieldSeconds,
	}
}

// Counted reports whether the counters of results know a field, so that counting by it reads no result.
func (f Field) Counted() bool {
	switch f {
	case FieldNamespace, FieldReportKind, FieldSource, FieldPolicy, FieldRule, FieldCategory, FieldSeverity, FieldResult, FieldScored:
		return true
	default:
		return false
	}
}

// Part is a set of what an engine keeps apart of a result.
type Part uint8

// The parts.
const (
	PartReport  Part = 1 << iota // What all rows of a report have in common.
	PartVerdict                  // What Verdict has.
	PartSubject                  // What Subject has.
	PartSeconds                  // The time.
)

// Part returns where a field is.
func (f Field) Part() Part {
	switch f {
	case FieldNamespace, FieldReportKind, FieldReport, FieldReportUID, FieldCreated:
		return PartReport
	case FieldSubjectAPIVersion, FieldSubjectKind, FieldSubjectNamespace, FieldSubjectName, FieldSubjectUID:
		return PartSubject
	case FieldSeconds, FieldDay:
		return PartSeconds
	case FieldMessage: // It has the names of the subject in it.
		return PartVerdict | PartSubject
	default:
		return PartVerdict
	}
}

// Operator is what a Filter does.
type Operator string

// The operators. All and Any combine Operands, Not has one; the others compare a field.
const (
	All         Operator = "all" // Of no operands: every row.
	Any         Operator = "any" // Of no operands: no row.
	Not         Operator = "not"
	In          Operator = "in" // One of Values, byte for byte.
	StartsWith  Operator = "startsWith"
	EndsWith    Operator = "endsWith"
	Contains    Operator = "contains"
	LessThan    Operator = "<" // Number is on the right.
	GreaterThan Operator = ">"
	EqualTo     Operator = "="
)

// Filter is a condition on a result row, as a tree. The zero value is not valid; nil selects every row. Filters are
// values of people's making: engines bind what they contain as parameters, and never as SQL.
type Filter struct {
	Operator Operator
	Operands []*Filter
	Field    Field
	// Values that In compares with, or the one text of StartsWith, EndsWith and Contains. UTF-8.
	Values []string
	// Number is what fields that are numbers are compared with.
	Number int64
}

// Bounds of a Filter: a statement of SQLite has 32,766 parameters and expressions of depth 1,000 at most, and one of
// PostgreSQL 65,535.
const (
	MaxFilterNodes  = 500
	MaxFilterDepth  = 50
	MaxFilterValues = 5000
)

// Equal returns the filter for rows whose field has a value.
func Equal(field Field, value string) *Filter { return OneOf(field, value) }

// OneOf returns the filter for rows whose field has one of some values.
func OneOf(field Field, values ...string) *Filter {
	return &Filter{Operator: In, Field: field, Values: values}
}

// Negate returns the filter for the rows that f does not select.
func Negate(f *Filter) *Filter {
	if f == nil {
		return &Filter{Operator: Any}
	}
	return &Filter{Operator: Not, Operands: []*Filter{f}}
}

// Both returns the filter for rows that all filters select; nil ones select every row.
func Both(filters ...*Filter) *Filter {
	filters = slices.DeleteFunc(slices.Clone(filters), func(f *Filter) bool { return f == nil })
	switch len(filters) {
	case 0:
		return nil
	case 1:
		return filters[0]
	}
	return &Filter{Operator: All, Operands: filters}
}

// Check returns an error if no engine could run the filter: it is too large, or malformed.
func (f *Filter) Check() error {
	nodes, values := 0, 0
	return f.check(&nodes, &values, 1)
}

func (f *Filter) check(nodes, values *int, depth int) error {
	if f == nil {
		return nil
	}
	*nodes++
	*values += len(f.Values)
	switch {
	case *nodes > MaxFilterNodes:
		return fmt.Errorf("the filter has more than %d conditions", MaxFilterNodes)
	case depth > MaxFilterDepth:
		return fmt.Errorf("the filter is nested deeper than %d", MaxFilterDepth)
	case *values > MaxFilterValues:
		return fmt.Errorf("the filter has more than %d values", MaxFilterValues)
	}
	switch f.Operator {
	case All, Any:
	case Not:
		if len(f.Operands) != 1 {
			return fmt.Errorf("the filter negates %d conditions in place of one", len(f.Operands))
		}
	default:
		return f.checkComparison()
	}
	for _, operand := range f.Operands {
		if operand == nil {
			return fmt.Errorf("%s has an operand that is missing", f.Operator)
		}
		if err := operand.check(nodes, values, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (f *Filter) checkComparison() error {
	if name, ok := f.Field.Property(); ok {
		if err := CheckProperty(name); err != nil {
			return err
		}
	} else if f.Field != FieldCluster && !slices.Contains(Fields(), f.Field) {
		return fmt.Errorf("there is no field %q", f.Field)
	}
	if slices.ContainsFunc(f.Values, func(value string) bool { return !utf8.ValidString(value) }) {
		return fmt.Errorf("%s is compared with a text that is not UTF-8", f.Field)
	}
	numeric := f.Field.IsNumber()
	switch f.Operator {
	case In:
		if numeric {
			return fmt.Errorf("%s is a number, and can't be compared with texts", f.Field)
		}
	case StartsWith, EndsWith, Contains:
		if numeric || len(f.Values) != 1 {
			return fmt.Errorf("%s of %s needs one text", f.Operator, f.Field)
		}
	case LessThan, GreaterThan, EqualTo:
		if !numeric {
			return fmt.Errorf("%s is a text: %s compares numbers", f.Field, f.Operator)
		}
	default:
		return fmt.Errorf("there is no operator %q", f.Operator)
	}
	return nil
}

// Uses calls visit for each field that the filter compares, once for each comparison.
func (f *Filter) Uses(visit func(Field)) {
	if f == nil {
		return
	}
	if f.Field != "" {
		visit(f.Field)
	}
	for _, operand := range f.Operands {
		operand.Uses(visit)
	}
}

// Has reports whether the filter compares a field.
func (f *Filter) Has(field Field) bool {
	has := false
	f.Uses(func(used Field) { has = has || used == field })
	return has
}

// Parts returns where the fields are that the filter compares.
func (f *Filter) Parts() (parts Part) {
	f.Uses(func(field Field) { parts |= field.Part() })
	return parts
}

// Select returns the part of the filter that consists of whole conditions that keep accepts, and the other part. Rows
// have to meet both. Each is nil where it selects every row.
func (f *Filter) Select(keep func(*Filter) bool) (kept, others *Filter) {
	for _, operand := range f.conjuncts() {
		if keep(operand) {
			kept = Both(kept, operand)
		} else {
			others = Both(others, operand)
		}
	}
	return kept, others
}

// conjuncts returns the conditions of which a row has to meet each.
func (f *Filter) conjuncts() []*Filter {
	switch {
	case f == nil:
		return nil
	case f.Operator != All:
		return []*Filter{f}
	}
	var all []*Filter
	for _, operand := range f.Operands {
		all = append(all, operand.conjuncts()...)
	}
	return all
}

// Demands returns the values of which a field must have one, and whether it must.
func (f *Filter) Demands(field Field) (values []string, must bool) {
	for _, operand := range f.conjuncts() {
		if operand.Operator == In && operand.Field == field && (!must || len(operand.Values) < len(values)) {
			values, must = operand.Values, true
		}
	}
	return values, must
}

// Counted reports whether the counters of results know all fields of the filter.
func (f *Filter) Counted() bool {
	counted := true
	f.Uses(func(field Field) { counted = counted && field.Counted() })
	return counted
}

// Match reports whether the filter selects a row, given the text of a field and the time. The text of FieldCreated is
// its digits. It is what statements of engines must agree with.
func (f *Filter) Match(text func(Field) string, seconds int64) bool {
	if f == nil {
		return true
	}
	switch f.Operator {
	case All, Any:
		for _, operand := range f.Operands {
			if operand.Match(text, seconds) == (f.Operator == Any) {
				return f.Operator == Any
			}
		}
		return f.Operator == All
	case Not:
		return !f.Operands[0].Match(text, seconds)
	case In:
		return slices.Contains(f.Values, text(f.Field))
	case StartsWith:
		return strings.HasPrefix(text(f.Field), f.Values[0])
	case EndsWith:
		return strings.HasSuffix(text(f.Field), f.Values[0])
	case Contains:
		return strings.Contains(text(f.Field), f.Values[0])
	default:
		return f.compares(text, seconds)
	}
}

// Dialect is how an engine writes a Filter in SQL.
type Dialect struct {
	// Column returns the SQL of a field: never null.
	Column func(Field) string
	// Bind takes a parameter, a string or an int64, and returns its placeholder.
	Bind func(value any) string
	// Position is the function that returns where a text is in another, from 1, and 0 for nowhere: byte for byte.
	Position func(text, in string) string
	// Ends returns the SQL that says whether a text ends with another.
	Ends func(text, with string) string
}

// SQL returns the filter as a condition; "" for nil. Check must have found nothing.
func (f *Filter) SQL(d Dialect) string {
	if f == nil {
		return ""
	}
	switch f.Operator {
	case All:
		return f.join(d, " AND ", "1 = 1")
	case Any:
		return f.join(d, " OR ", "1 = 0")
	case Not:
		return "NOT (" + f.Operands[0].SQL(d) + ")"
	case In:
		if len(f.Values) == 0 {
			return "1 = 0"
		}
		places := make([]string, len(f.Values))
		for i, value := range f.Values {
			places[i] = d.Bind(value)
		}
		return d.Column(f.Field) + " IN (" + strings.Join(places, ", ") + ")"
	case StartsWith:
		return d.Position(d.Bind(f.Values[0]), d.Column(f.Field)) + " = 1"
	case Contains:
		return d.Position(d.Bind(f.Values[0]), d.Column(f.Field)) + " > 0"
	case EndsWith:
		return d.Ends(d.Column(f.Field), d.Bind(f.Values[0]))
	default:
		return d.Column(f.Field) + " " + string(f.Operator) + " " + d.Bind(f.Number)
	}
}

func (f *Filter) join(d Dialect, with, empty string) string {
	if len(f.Operands) == 0 {
		return empty
	}
	parts := make([]string, len(f.Operands))
	for i, operand := range f.Operands {
		parts[i] = operand.SQL(d)
	}
	return "(" + strings.Join(parts, with) + ")"
}

// compares is Match for comparisons of numbers.
func (f *Filter) compares(text func(Field) string, seconds int64) bool {
	number := seconds
	if f.Field == FieldCreated {
		var err error
		if number, err = strconv.ParseInt(text(f.Field), 10, 64); err != nil {
			return false
		}
	}
	switch f.Operator {
	case LessThan:
		return number < f.Number
	case GreaterThan:
		return number > f.Number
	default:
		return number == f.Number
	}
}
