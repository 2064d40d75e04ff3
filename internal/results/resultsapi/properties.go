// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"

	"github.com/docket-project/docket/internal/store/engine"
)

// propertiesVariable has the properties of a result in expressions.
const propertiesVariable = "properties"

// What is around the name of a property in spec.groupBy, as in expressions. Names have no quotes: engine.CheckProperty.
const (
	beforeProperty = propertiesVariable + `["`
	behindProperty = `"]`
)

// propertyIn returns the name of the property that a name in spec.groupBy means, and whether it means one.
func propertyIn(name string) (property string, ok bool) {
	if rest, found := strings.CutPrefix(name, beforeProperty); found {
		return strings.CutSuffix(rest, behindProperty)
	}
	return "", false
}

// propertyField returns the field of the property that an expression is.
func propertyField(e ast.Expr) (engine.Field, bool) {
	isProperties := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == propertiesVariable }
	switch {
	case e == nil:
	case e.Kind() == ast.SelectKind && isProperties(e.AsSelect().Operand()):
		return engine.Property(e.AsSelect().FieldName()), true
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Index && isProperties(e.AsCall().Args()[0]):
		name, ok := literal(e.AsCall().Args()[1])
		return engine.Property(name), ok
	}
	return "", false
}

// decimalField returns the field of the property whose number an expression is.
func decimalField(e ast.Expr) (engine.Field, bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != overloads.TypeConvertDouble {
		return "", false
	}
	return propertyField(e.AsCall().Args()[0])
}

// compareDecimal compares the number of a property with another. A property without a number is neither below nor above one.
func (c *compiler) compareDecimal(e ast.Expr, field engine.Field, name string, value ast.Expr) (*engine.Filter, error) {
	number, ok := decimal(value)
	if !ok {
		return nil, c.refuse(e, "the comparison of a number with what is none")
	}
	is := func(operator engine.Operator) *engine.Filter {
		return &engine.Filter{Operator: operator, Field: field, Decimal: number}
	}
	switch name {
	case operators.Less:
		return is(engine.LessThan), nil
	case operators.LessEquals:
		return join(engine.Any, is(engine.LessThan), is(engine.EqualTo)), nil
	case operators.Greater:
		return is(engine.GreaterThan), nil
	case operators.GreaterEquals:
		return join(engine.Any, is(engine.GreaterThan), is(engine.EqualTo)), nil
	}
	return nil, c.refuse(e, "whether numbers are equal")
}

// decimal returns the number that an expression is.
func decimal(e ast.Expr) (float64, bool) {
	if e.Kind() != ast.LiteralKind {
		return 0, false
	}
	switch number := e.AsLiteral().Value().(type) {
	case float64:
		return number, true
	case int64:
		return float64(number), true
	}
	return 0, false
}
