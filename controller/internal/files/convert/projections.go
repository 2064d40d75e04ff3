// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"github.com/google/cel-go/common/operators"
	"github.com/kyverno/go-jmespath"
)

// projection converts list[].rest, list[*].rest and list[?condition].rest. What is null is left out.
func (c *converter) projection(n jmespath.ASTNode, s scope, field string) (term, error) {
	left, err := c.node(n.Children[0], s, field)
	if err != nil {
		return term{}, err
	}
	list := left.elements()
	there := and(left.guard(), left.present)
	element := c.variable("e")
	item := placed(at(element))
	if left.kind == listKind && left.path == nil && left.nested {
		item = term{cel: element, present: always}
	}
	inner := s.in(item)
	if n.NodeType == jmespath.ASTFilterProjection {
		condition, err := c.truth(n.Children[2], inner, field)
		if err != nil {
			return term{}, err
		}
		list = method(list, operators.Filter, element, condition)
	}
	right, err := c.node(n.Children[1], inner, field)
	if err != nil {
		return term{}, err
	}
	out := term{kind: listKind, present: there, cel: list, empty: true}
	if right.cel == element {
		return out, nil
	}
	out.nested = true
	if when := and(right.guard(), right.present); when == always {
		out.cel = method(list, operators.Map, element, right.cel)
	} else {
		out.cel = method(list, operators.Map, element, when, right.cel)
	}
	return out, nil
}

// flatten converts list[] before a projection. Lists are put in place of themselves.
func (c *converter) flatten(n jmespath.ASTNode, s scope, field string) (term, error) {
	if lists, base, ok := selected(n.Children[0]); ok {
		return c.concatenation(lists, base, s, field)
	}
	left, err := c.node(n.Children[0], s, field)
	if err != nil {
		return term{}, err
	}
	list := left.elements()
	there := and(left.guard(), left.present)
	if left.nested {
		list = method(list, "flatten")
	}
	return term{cel: list, kind: listKind, present: there, empty: true}, nil
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
func (c *converter) concatenation(lists []jmespath.ASTNode, base *jmespath.ASTNode, s scope, field string) (term, error) {
	var guards []cel
	if base != nil {
		left, err := c.node(*base, s, field)
		if err != nil {
			return term{}, err
		}
		guards = left.guards
		s = s.in(left)
	}
	var all []cel
	for _, each := range lists {
		part, err := c.node(each, s, field)
		if err != nil {
			return term{}, err
		}
		list := part.elements()
		if part.nested {
			list = method(list, "flatten")
		}
		all = append(all, list)
	}
	return term{cel: sum(all[0], all[1:]...), kind: listKind, present: always, guards: guards}, nil
}
