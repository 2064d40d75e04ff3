// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"github.com/kyverno/go-jmespath"
)

// truth converts an expression of which only the truth counts: null and what is empty are false.
func (c *converter) truth(n jmespath.ASTNode, s scope, field string) (cel, error) {
	switch n.NodeType { //nolint:exhaustive // All others have a value.
	case jmespath.ASTAndExpression, jmespath.ASTOrExpression:
		left, err := c.truth(n.Children[0], s, field)
		if err != nil {
			return cel{}, err
		}
		right, err := c.truth(n.Children[1], s, field)
		if n.NodeType == jmespath.ASTOrExpression {
			return or(left, right), err
		}
		return and(left, right), err
	case jmespath.ASTNotExpression:
		inner, err := c.truth(n.Children[0], s, field)
		return not(inner), err
	case jmespath.ASTComparator:
		return c.comparator(n, s, field)
	}
	t, err := c.node(n, s, field)
	if err != nil {
		return cel{}, err
	}
	switch {
	case t.kind == boolKind:
		return and(t.guard(), t.cel), nil
	case t.kind == listKind:
		return comparison(t.or("[]").in(bindsPrimary) + ".size() > 0"), nil
	case t.path != nil:
		return not(isEmpty(t.path.or("null"))), nil
	default:
		return cel{}, refuse(field, byHand, "it is not known whether %s is true", t.text)
	}
}

// comparator converts a == b and its like; a missing value is null.
func (c *converter) comparator(n jmespath.ASTNode, s scope, field string) (cel, error) {
	left, right, err := c.both(n, s, field)
	if err != nil {
		return cel{}, err
	}
	operator, ok := map[string]string{"tEQ": " == ", "tNE": " != ", "tGT": " > ", "tGTE": " >= ", "tLT": " < ", "tLTE": " <= "}[fmt.Sprint(n.Value)]
	if !ok {
		return cel{}, refuse(field, byHand, "the operator %v is not supported", n.Value)
	}
	a, b := left.or("null"), right.or("null")
	if operator != " == " && operator != " != " && (left.kind != numberKind || right.kind != numberKind) {
		return cel{}, refuse(field, byHand, "it compares what may be no numbers")
	}
	return comparison(a.in(bindsSum) + operator + b.in(bindsSum)), nil
}
