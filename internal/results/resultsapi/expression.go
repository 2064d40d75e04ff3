// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"

	"github.com/docket-project/docket/internal/store/engine"
)

// maxExpression is the largest length of an expression in bytes.
const maxExpression = 10_000

// nowVariable is the time of the question in expressions.
const nowVariable = "now"

// expressions is what CEL knows of a row: its fields, and the time.
//
// Made once is the purpose of this variable.
var expressions = sync.OnceValues(func() (*cel.Env, error) {
	options := append(limits(), cel.Variable(nowVariable, cel.TimestampType),
		cel.Variable(propertiesVariable, cel.MapType(cel.StringType, cel.StringType)))
	for _, field := range append(engine.Fields(), engine.FieldCluster) {
		options = append(options, cel.Variable(string(field), typeOf(field)))
	}
	return cel.NewEnv(options...)
})

// limits are what all expressions have in common: they are small, and without macros.
func limits() []cel.EnvOption {
	return []cel.EnvOption{cel.ClearMacros(), cel.ParserRecursionLimit(engine.MaxFilterDepth), cel.ParserExpressionSizeLimit(maxExpression)}
}

func typeOf(field engine.Field) *cel.Type {
	if field == engine.FieldScored {
		return cel.BoolType
	}
	if field.IsNumber() {
		return cel.TimestampType
	}
	return cel.StringType
}

// compileExpression turns an expression in CEL into a filter; nil for "". Of CEL it takes what a database answers
// without reading more than it must; errors say what that is.
func compileExpression(text string, now time.Time) (*engine.Filter, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil // Nil is the filter for everything.
	}
	env, err := expressions()
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("%w; %s", issues.Err(), supported)
	}
	if checked.OutputType() != cel.BoolType {
		return nil, fmt.Errorf("the expression is a %s, and must be a bool", checked.OutputType())
	}
	c := compiler{source: checked.NativeRep().SourceInfo(), now: now}
	filter, err := c.condition(checked.NativeRep().Expr())
	if err != nil {
		return nil, err
	}
	return filter, filter.Check()
}

// compiler turns checked expressions into filters.
type compiler struct {
	source *ast.SourceInfo
	now    time.Time
}

// supported is the remedy in errors.
const supported = "use fields, &&, ||, !, ==, != and in with texts, startsWith, endsWith, contains, " +
	`and <, <=, >, >= of timestamp and report.created with timestamp("…") or now - duration("…")`

func (c *compiler) refuse(e ast.Expr, what string) error {
	at := c.source.GetStartLocation(e.ID())
	return fmt.Errorf("line %d, column %d: %s can't be asked: %s", at.Line(), at.Column()+1, what, supported)
}

func (c *compiler) condition(e ast.Expr) (*engine.Filter, error) {
	kind := e.Kind()
	switch {
	case kind == ast.LiteralKind && e.AsLiteral() == types.True:
		return &engine.Filter{Operator: engine.All}, nil
	case kind == ast.LiteralKind:
		return &engine.Filter{Operator: engine.Any}, nil
	case kind == ast.IdentKind:
		return engine.Equal(engine.Field(e.AsIdent()), "true"), nil // The one field that is a bool.
	case kind == ast.CallKind:
		return c.call(e)
	}
	return nil, c.refuse(e, "this")
}

func (c *compiler) call(e ast.Expr) (*engine.Filter, error) {
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.LogicalAnd, operators.LogicalOr:
		left, err := c.condition(args[0])
		if err != nil {
			return nil, err
		}
		right, err := c.condition(args[1])
		if err != nil {
			return nil, err
		}
		if name == operators.LogicalAnd {
			return join(engine.All, left, right), nil
		}
		return join(engine.Any, left, right), nil
	case operators.LogicalNot:
		operand, err := c.condition(args[0])
		if err != nil {
			return nil, err
		}
		return engine.Negate(operand), nil
	case operators.In:
		return c.in(e, args[0], args[1])
	case overloads.StartsWith, overloads.EndsWith, overloads.Contains:
		return c.part(e, name, call.Target(), args)
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return c.compare(e, name, args[0], args[1])
	default:
		return nil, c.refuse(e, strings.Trim(name, "_@"))
	}
}

// join adds a condition to one of the same kind, so that a long chain of them is not deep.
func join(operator engine.Operator, left, right *engine.Filter) *engine.Filter {
	joined := &engine.Filter{Operator: operator}
	for _, operand := range []*engine.Filter{left, right} {
		if operand.Operator == operator {
			joined.Operands = append(joined.Operands, operand.Operands...)
		} else {
			joined.Operands = append(joined.Operands, operand)
		}
	}
	if operator == engine.All && len(joined.Operands) == 1 {
		return joined.Operands[0]
	}
	return joined
}

func (c *compiler) in(e, value, list ast.Expr) (*engine.Filter, error) {
	field, ok := textField(value)
	if !ok || list.Kind() != ast.ListKind {
		return nil, c.refuse(e, "in without a field and a list of texts")
	}
	var texts []string
	for _, element := range list.AsList().Elements() {
		text, ok := literal(element)
		if !ok {
			return nil, c.refuse(element, "what is no text")
		}
		texts = append(texts, text)
	}
	return engine.OneOf(field, texts...), nil
}

func (c *compiler) part(e ast.Expr, name string, target ast.Expr, args []ast.Expr) (*engine.Filter, error) {
	field, ok := textField(target)
	text, isText := literal(args[0])
	if !ok || !isText {
		return nil, c.refuse(e, name+" without a field and a text")
	}
	operator := map[string]engine.Operator{
		overloads.StartsWith: engine.StartsWith, overloads.EndsWith: engine.EndsWith, overloads.Contains: engine.Contains,
	}[name]
	return &engine.Filter{Operator: operator, Field: field, Values: []string{text}}, nil
}

func (c *compiler) compare(e ast.Expr, name string, left, right ast.Expr) (*engine.Filter, error) {
	if _, isField := anyField(left); !isField {
		left, right = right, left
		name = mirrored(name)
	}
	field, isField := anyField(left)
	switch {
	case !isField:
		return nil, c.refuse(e, "a comparison without a field")
	case field.IsNumber():
		return c.compareTime(e, field, name, right)
	case name != operators.Equals && name != operators.NotEquals:
		return nil, c.refuse(e, "the order of texts")
	}
	filter, err := c.equal(e, field, right)
	if err == nil && name == operators.NotEquals {
		filter = engine.Negate(filter)
	}
	return filter, err
}

func (c *compiler) equal(e ast.Expr, field engine.Field, value ast.Expr) (*engine.Filter, error) {
	if value.Kind() != ast.LiteralKind {
		return nil, c.refuse(e, "the comparison of two fields")
	}
	switch value := value.AsLiteral().Value().(type) {
	case string:
		return engine.Equal(field, value), nil
	case bool:
		return engine.Equal(field, fmt.Sprint(value)), nil
	}
	return nil, c.refuse(e, "this comparison")
}

// mirrored is a comparison with its sides exchanged.
func mirrored(name string) string {
	switch name {
	case operators.Less:
		return operators.Greater
	case operators.LessEquals:
		return operators.GreaterEquals
	case operators.Greater:
		return operators.Less
	case operators.GreaterEquals:
		return operators.LessEquals
	}
	return name
}

// compareTime compares the time of a result or a report, which is in whole seconds. What has no time is neither
// before nor after anything.
func (c *compiler) compareTime(e ast.Expr, field engine.Field, name string, value ast.Expr) (*engine.Filter, error) {
	at, err := c.time(value)
	if err != nil {
		return nil, c.refuse(e, err.Error())
	}
	second, whole := at.Unix(), at.Nanosecond() == 0
	below := &engine.Filter{Operator: engine.LessThan, Field: field, Number: second}
	above := &engine.Filter{Operator: engine.GreaterThan, Field: field, Number: second}
	equal := &engine.Filter{Operator: engine.EqualTo, Field: field, Number: second}
	none := &engine.Filter{Operator: engine.Any}
	var filter *engine.Filter
	switch name {
	case operators.Less:
		filter = below
		if !whole {
			filter = join(engine.Any, below, equal)
		}
	case operators.LessEquals:
		filter = join(engine.Any, below, equal)
	case operators.Greater:
		filter = above
	case operators.GreaterEquals:
		filter = above
		if whole {
			filter = join(engine.Any, above, equal)
		}
	case operators.Equals, operators.NotEquals:
		filter = none
		if whole {
			filter = equal
		}
		if name == operators.NotEquals {
			filter = engine.Negate(filter)
		}
	}
	timed := engine.Negate(&engine.Filter{Operator: engine.EqualTo, Field: field})
	return join(engine.All, timed, filter), nil
}

var errNoTime = errors.New("a time that is not known before")

// time returns the value of an expression without fields that is a time.
func (c *compiler) time(e ast.Expr) (time.Time, error) {
	if e.Kind() == ast.IdentKind && e.AsIdent() == nowVariable {
		return c.now, nil
	}
	if e.Kind() != ast.CallKind {
		return time.Time{}, errNoTime
	}
	call := e.AsCall()
	switch args := call.Args(); call.FunctionName() {
	case overloads.TypeConvertTimestamp:
		if text, ok := literal(args[0]); ok {
			at, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				return at, fmt.Errorf("the time %q, which is not like 2026-11-20T08:50:32Z,", text)
			}
			return at, nil
		}
	case operators.Add, operators.Subtract:
		at, err := c.time(args[0])
		if err != nil {
			return at, err
		}
		by, err := period(args[1])
		if call.FunctionName() == operators.Subtract {
			by = -by
		}
		return at.Add(by), err
	}
	return time.Time{}, errNoTime
}

func period(e ast.Expr) (time.Duration, error) {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == overloads.TypeConvertDuration {
		if text, ok := literal(e.AsCall().Args()[0]); ok {
			by, err := time.ParseDuration(text)
			if err != nil {
				return 0, fmt.Errorf("the duration %q, which is not like 24h,", text)
			}
			return by, nil
		}
	}
	return 0, errNoTime
}

// anyField returns the field that an expression is.
func anyField(e ast.Expr) (engine.Field, bool) {
	if field, ok := propertyField(e); ok {
		return field, true
	}
	if e == nil || e.Kind() != ast.IdentKind || e.AsIdent() == nowVariable {
		return "", false
	}
	field := engine.Field(e.AsIdent())
	return field, field == engine.FieldCluster || slices.Contains(engine.Fields(), field)
}

// textField is anyField for those that are texts.
func textField(e ast.Expr) (engine.Field, bool) {
	field, ok := anyField(e)
	return field, ok && !field.IsNumber() && field != engine.FieldScored
}

// literal returns the text that an expression is.
func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().Value().(string)
	return text, ok
}
