// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/docket-project/docket/internal/store/engine"
)

// numbers are what spec.having can compare: the number of results, and the aggregates that are numbers.
func numbers() []string {
	return []string{string(engine.OrderResults), askSubjects, askNamespaces, askPolicies, askSources, askClusters}
}

// havingRemedy is the remedy in errors.
const havingRemedy = "compare results and the numbers in spec.aggregates with whole numbers by ==, !=, <, <=, >, >=, and join comparisons with &&"

// bounds is what CEL knows of a group: its numbers.
//
// Made once is the purpose of this variable.
var bounds = sync.OnceValues(func() (*cel.Env, error) {
	options := limits()
	for _, name := range numbers() {
		options = append(options, cel.Variable(name, cel.IntType))
	}
	return cel.NewEnv(options...)
})

// compileHaving turns an expression in CEL into bounds on the numbers of groups; none for "". Asked are the
// aggregates of the question.
func compileHaving(text string, asked []string) ([]engine.Bound, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	env, err := bounds()
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("%w; %s", issues.Err(), havingRemedy)
	}
	c := boundsCompiler{source: checked.NativeRep().SourceInfo(), asked: asked}
	if err := c.conjunction(checked.NativeRep().Expr()); err != nil {
		return nil, err
	}
	if n := len(c.bounds); n > engine.MaxBounds {
		return nil, fmt.Errorf("there are %d comparisons, and %d at most are possible", n, engine.MaxBounds)
	}
	return c.bounds, nil
}

// boundsCompiler turns a checked expression into bounds.
type boundsCompiler struct {
	source *ast.SourceInfo
	asked  []string
	bounds []engine.Bound
}

func (c *boundsCompiler) refuse(e ast.Expr, what string) error {
	at := c.source.GetStartLocation(e.ID())
	return fmt.Errorf("line %d, column %d: %s can't be asked: %s", at.Line(), at.Column()+1, what, havingRemedy)
}

// conjunction adds the bounds of an expression.
func (c *boundsCompiler) conjunction(e ast.Expr) error {
	if e.Kind() != ast.CallKind {
		return c.refuse(e, "this")
	}
	call := e.AsCall()
	if call.FunctionName() != operators.LogicalAnd {
		return c.comparison(e, call.FunctionName(), call.Args())
	}
	for _, operand := range call.Args() {
		if err := c.conjunction(operand); err != nil {
			return err
		}
	}
	return nil
}

func (c *boundsCompiler) comparison(e ast.Expr, name string, args []ast.Expr) error {
	left, right := args[0], args[len(args)-1]
	if left.Kind() == ast.LiteralKind {
		left, right, name = right, left, mirrored(name)
	}
	operator, ok := map[string]engine.Operator{
		operators.Equals: engine.EqualTo, operators.NotEquals: engine.NotEqualTo, operators.Less: engine.LessThan, operators.LessEquals: engine.AtMost,
		operators.Greater: engine.GreaterThan, operators.GreaterEquals: engine.AtLeast,
	}[name]
	if !ok {
		return c.refuse(e, strings.Trim(name, "_@"))
	}
	if left.Kind() != ast.IdentKind || right.Kind() != ast.LiteralKind {
		return c.refuse(e, "this comparison")
	}
	of := left.AsIdent()
	if of != string(engine.OrderResults) && !slices.Contains(c.asked, of) {
		return fmt.Errorf("%s is not counted: add it to spec.aggregates", of)
	}
	number, ok := right.AsLiteral().Value().(int64)
	if !ok {
		return c.refuse(right, "what is no whole number")
	}
	c.bounds = append(c.bounds, engine.Bound{Of: engine.Field(of), Operator: operator, Number: number})
	return nil
}
