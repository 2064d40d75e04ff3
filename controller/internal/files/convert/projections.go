// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"github.com/google/cel-go/common/operators"
	"github.com/kyverno/go-jmespath"
)

// projection converts list[].rest, list[*].rest and list[?condition].rest. What is null is left out.
func (c *converter) projection(n jmespath.ASTNode, s scope, field string) term {
	left := c.node(n.Children[0], s, field)
	list := left.elements()
	there := and(left.guard(), left.present)
	element := c.variable("e")
	item := placed(at(element))
	if left.kind == listKind && left.path == nil && left.nested {
		item = term{cel: element, present: always}
	}
	inner := s.in(item)
	if n.NodeType == jmespath.ASTFilterProjection {
		condition := c.truth(n.Children[2], inner, field)
		list = method(list, operators.Filter, element, condition)
	}
	right := c.node(n.Children[1], inner, field)
	out := term{kind: listKind, present: there, cel: list, empty: true}
	if right.cel == element {
		return out
	}
	out.nested = true
	if when := and(right.guard(), right.present); when == always {
		out.cel = method(list, operators.Map, element, right.cel)
	} else {
		out.cel = method(list, operators.Map, element, when, right.cel)
	}
	return out
}

// flatten converts list[] before a projection. Lists are put in place of themselves.
func (c *converter) flatten(n jmespath.ASTNode, s scope, field string) term {
	if lists, base, ok := selected(n.Children[0]); ok {
		return c.concatenation(lists, base, s, field)
	}
	left := c.node(n.Children[0], s, field)
	list := left.elements()
	there := and(left.guard(), left.present)
	if left.nested {
		list = method(list, "flatten")
	}
	return term{cel: list, kind: listKind, present: there, empty: true}
}

// selected returns the parts of base.[a, b].
func selected(n jmespath.ASTNode) (lists []jmespath.ASTNode, base *jmespath.ASTNode, ok bool) {
	switch {
	case n.NodeType == jmespath.ASTMultiSelectList:
		return n.Children, nil, true
	case n.NodeType == jmespath.ASTSubexpression && n.Children[1].NodeType == jmespath.ASTMultiSelectList:
		return n.Children[1].Children, &n.Children[0], true
	default:
		return nil, nil, false
	}
}

// concatenation converts [a, b][]: a missing list adds nothing.
func (c *converter) concatenation(lists []jmespath.ASTNode, base *jmespath.ASTNode, s scope, field string) term {
	var guards []cel
	if base != nil {
		left := c.node(*base, s, field)
		guards = left.guards
		s = s.in(left)
	}
	var all []cel
	for _, each := range lists {
		part := c.node(each, s, field)
		list := part.elements()
		if part.nested {
			list = method(list, "flatten")
		}
		all = append(all, list)
	}
	return term{cel: sum(all[0], all[1:]...), kind: listKind, present: always, guards: guards}
}
