// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

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
