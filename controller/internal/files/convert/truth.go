// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"github.com/google/cel-go/common/operators"
	"github.com/kyverno/go-jmespath"
)

// truth converts an expression of which only the truth counts: null and what is empty are false.
func (c *converter) truth(n jmespath.ASTNode, s scope, field string) cel {
	switch n.NodeType { //nolint:exhaustive // All others have a value.
	case jmespath.ASTAndExpression, jmespath.ASTOrExpression:
		left := c.truth(n.Children[0], s, field)
		right := c.truth(n.Children[1], s, field)
		if n.NodeType == jmespath.ASTOrExpression {
			return or(left, right)
		}
		return and(left, right)
	case jmespath.ASTNotExpression:
		inner := c.truth(n.Children[0], s, field)
		return not(inner)
	case jmespath.ASTComparator:
		return c.comparator(n, s, field)
	}
	t := c.node(n, s, field)
	switch {
	case t.kind == boolKind:
		return and(t.guard(), t.cel)
	case t.kind == listKind:
		return hasElements(t.or(emptyList))
	case t.path != nil:
		return not(isEmpty(t.path.or(null)))
	default:
		return c.refuse(field, byHand, "it is not known whether %s is true", oneLine(t.cel))
	}
}

// comparators are the operators of JMESPath in CEL.
var comparators = map[string]string{
	"tEQ": operators.Equals, "tNE": operators.NotEquals, "tGT": operators.Greater, "tGTE": operators.GreaterEquals,
	"tLT": operators.Less, "tLTE": operators.LessEquals,
}

// comparator converts a == b and its like; a missing value is null.
func (c *converter) comparator(n jmespath.ASTNode, s scope, field string) cel {
	left, right := c.both(n, s, field)
	operator, ok := comparators[fmt.Sprint(n.Value)]
	if !ok {
		return c.refuse(field, byHand, "the operator %v is not supported", n.Value)
	}
	if operator != operators.Equals && operator != operators.NotEquals && (left.kind != numberKind || right.kind != numberKind) {
		return c.refuse(field, byHand, "it compares what may be no numbers")
	}
	return call(operator, left.or(null), right.or(null))
}
