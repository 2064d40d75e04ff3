// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// cel is an expression as people write it: it is printed and never evaluated, so macros such as has() and all() stay
// the calls that they look like.
type cel = ast.Expr

var (
	build = ast.NewExprFactory()

	// These are compared by identity: no other expression is one of them.
	always    = build.NewLiteral(0, types.True)
	never     = build.NewLiteral(0, types.False)
	null      = build.NewLiteral(0, types.NullValue)
	emptyText = build.NewLiteral(0, types.String(""))
	emptyList = build.NewList(0, nil, nil)
	emptyMap  = build.NewMap(0, nil)
)

// maxColumn is where an expression is too long for one line.
const maxColumn = 80

// lines prints an expression for people. One that is long has a line for each operand of its outermost && or ||:
// the unparser would break lines anywhere, also between the arguments of a call.
func lines(c cel) string {
	text := oneLine(c)
	for operator, symbol := range map[string]string{operators.LogicalAnd: " &&\n", operators.LogicalOr: " ||\n"} {
		if len(text) > maxColumn && isCall(c, operator) {
			return strings.Join(operands(c, operator), symbol)
		}
	}
	return text
}

// operands prints what an operator joins, however often it occurs.
func operands(c cel, operator string) []string {
	if isCall(c, operator) {
		both := c.AsCall().Args()
		return append(operands(both[0], operator), operands(both[1], operator)...)
	}
	text := oneLine(c)
	if c.Kind() == ast.CallKind && operators.Precedence(c.AsCall().FunctionName()) > operators.Precedence(operator) {
		text = "(" + text + ")"
	}
	return []string{text}
}

// oneLine prints an expression in one line.
func oneLine(c cel) string {
	text, err := parser.Unparse(c, ast.NewSourceInfo(nil), parser.WrapOnColumn(math.MaxInt))
	if err != nil {
		panic(err) // There is text for whatever this file builds.
	}
	return text
}

// same reports whether two expressions have the same text.
func same(a, b cel) bool { return a == b || oneLine(a) == oneLine(b) }

func boolean(value bool) cel {
	if value {
		return always
	}
	return never
}

// quote returns a string literal.
func quote(text string) cel {
	if text == "" {
		return emptyText
	}
	return build.NewLiteral(0, types.String(text))
}

func whole(number int64) cel { return build.NewLiteral(0, types.Int(number)) }

// number returns a literal: an integer if it is one.
func number(value float64) cel {
	if isWhole(value) {
		return whole(int64(value))
	}
	return build.NewLiteral(0, types.Double(value))
}

// isWhole reports whether a number of JSON is an integer.
func isWhole(number float64) bool { return number == math.Trunc(number) && math.Abs(number) < 1<<53 }

func list(elements ...cel) cel {
	if len(elements) == 0 {
		return emptyList
	}
	return build.NewList(0, elements, nil)
}

// quotes returns a list of string literals.
func quotes(texts []string) cel {
	elements := make([]cel, len(texts))
	for i, text := range texts {
		elements[i] = quote(text)
	}
	return list(elements...)
}

// ident returns an identifier, and what its members after the dots select.
func ident(path string) cel {
	keys := strings.Split(path, ".")
	c := build.NewIdent(0, keys[0])
	for _, key := range keys[1:] {
		c = build.NewSelect(0, c, key)
	}
	return c
}

// call returns function(arguments); operators are functions too.
func call(function string, arguments ...cel) cel { return build.NewCall(0, function, arguments...) }

// method returns a.function(arguments).
func method(a cel, function string, arguments ...cel) cel {
	return build.NewMemberCall(0, function, a, arguments...)
}

func isCall(c cel, function string) bool {
	return c.Kind() == ast.CallKind && c.AsCall().FunctionName() == function
}

// chain joins the operands by an operator of which absorbing is the result as soon as one operand is it, and
// neutral the result without operands. Operands that occur twice count once.
func chain(operator string, neutral, absorbing cel, operands []cel) cel {
	joined := neutral
	seen := map[string]bool{}
	for _, operand := range operands {
		if operand == absorbing {
			return absorbing
		}
		text := oneLine(operand)
		switch {
		case operand == neutral || seen[text]:
		case joined == neutral:
			joined = operand
		default:
			joined = call(operator, joined, operand)
		}
		seen[text] = true
	}
	return joined
}

func and(operands ...cel) cel { return chain(operators.LogicalAnd, always, never, operands) }

func or(operands ...cel) cel { return chain(operators.LogicalOr, never, always, operands) }

func not(c cel) cel {
	switch {
	case c == always:
		return never
	case c == never:
		return always
	case isCall(c, operators.LogicalNot):
		return c.AsCall().Args()[0]
	}
	return call(operators.LogicalNot, c)
}

// choose is condition ? yes : no.
func choose(condition, yes, no cel) cel {
	switch condition {
	case always:
		return yes
	case never:
		return no
	}
	return call(operators.Conditional, condition, yes, no)
}

func equal(a, b cel) cel { return call(operators.Equals, a, b) }

// oneOf is true if a is one of the texts.
func oneOf(a cel, texts []string) cel {
	if len(texts) == 1 {
		return equal(a, quote(texts[0]))
	}
	return in(a, quotes(texts))
}

func in(a, list cel) cel { return call(operators.In, a, list) }

// every and exists are about the elements of a list, which the condition calls by the name element.
func every(list, element, condition cel) cel { return method(list, operators.All, element, condition) }
func exists(list, element, condition cel) cel {
	return method(list, operators.Exists, element, condition)
}

func hasElements(list cel) cel { return longerThan(list, 0) }

func longerThan(list cel, size int) cel {
	return call(operators.Greater, method(list, "size"), whole(int64(size)))
}

// sum joins texts or lists.
func sum(first cel, rest ...cel) cel {
	for _, one := range rest {
		first = call(operators.Add, first, one)
	}
	return first
}

func index(a, key cel) cel { return call(operators.Index, a, key) }

// isType reports whether a is of one of CEL's types.
func isType(a cel, of string) cel { return equal(call("type", a), ident(of)) }

// asList is a, or the list that has only a.
func asList(a cel) cel { return choose(isType(a, "list"), a, list(a)) }

// dyn hides the type of a, for branches that have two.
func dyn(a cel) cel { return call("dyn", a) }

// asText is what a looks like as a string.
func asText(a cel) cel { return call("string", a) }

func comparedQuantities(operator string, a, b cel) cel {
	return call(operator, method(call("quantity", a), "compareTo", call("quantity", b)), whole(0))
}

func comparedDurations(operator string, a, b cel) cel {
	return call(operator, call("duration", a), call("duration", b))
}

func canBeQuantity(a cel) cel { return call("isQuantity", a) }

// durations is a regular expression for what Go takes as a duration.
const durations = `^[-+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

func canBeDuration(a cel) cel { return method(a, "matches", quote(durations)) }
