// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"strings"

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
	item := placed(at(primary(element)))
	if left.kind == listKind && left.path == nil && left.nested {
		item = term{cel: primary(element), present: always}
	}
	inner := s.in(item)
	if n.NodeType == jmespath.ASTFilterProjection {
		condition, err := c.truth(n.Children[2], inner, field)
		if err != nil {
			return term{}, err
		}
		list = call(list, "filter", element, condition.text)
	}
	right, err := c.node(n.Children[1], inner, field)
	if err != nil {
		return term{}, err
	}
	out := term{kind: listKind, present: there, cel: list, empty: true}
	if right.text == element {
		return out, nil
	}
	out.nested = true
	if when := and(right.guard(), right.present); when == always {
		out.cel = call(list, "map", element, right.text)
	} else {
		out.cel = call(list, "map", element, when.text, right.text)
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
		list = call(list, "flatten")
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
	var texts []string
	for _, each := range lists {
		part, err := c.node(each, s, field)
		if err != nil {
			return term{}, err
		}
		list := part.elements()
		if part.nested {
			list = call(list, "flatten")
		}
		texts = append(texts, list.in(bindsSum))
	}
	return term{cel: cel{strings.Join(texts, " + "), bindsSum}, kind: listKind, present: always, guards: guards}, nil
}
