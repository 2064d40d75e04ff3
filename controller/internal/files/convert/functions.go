// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"github.com/google/cel-go/common/operators"
	"github.com/kyverno/go-jmespath"
)

// function converts a call. Arguments that JMESPath does not accept give an error in CEL as well.
func (c *converter) function(n jmespath.ASTNode, s scope, field string) term {
	name, _ := n.Value.(string)
	arguments := make([]term, len(n.Children))
	var guards []cel
	for i, child := range n.Children {
		arguments[i] = c.node(child, s, field)
		guards = append(guards, arguments[i].guards...)
		if arguments[i].present != always {
			guards = append(guards, arguments[i].present)
		}
	}
	wanted, ok := arity[name]
	if !ok || len(arguments) != wanted {
		return c.refuseTerm(field, byHand, "the function %s() of JMESPath has no counterpart", name)
	}
	t := c.apply(name, arguments)
	t.guards = append(t.guards, guards...)
	return t
}

// arity has the functions that are supported, with the number of their arguments.
var arity = map[string]int{
	"length": 1, "keys": 1, "values": 1, "contains": 2, "starts_with": 2, "ends_with": 2, "to_string": 1,
	"to_upper": 1, "to_lower": 1, "regex_match": 2, "split": 2, "join": 2, "replace_all": 3, "to_array": 1,
}

func (c *converter) apply(name string, a []term) term {
	first := a[0].cel
	switch name {
	case "length":
		return known(method(first, "size"), numberKind)
	case "keys":
		key := c.variable("key")
		return known(method(first, operators.Map, key, key), listKind)
	case "values":
		key := c.variable("key")
		t := known(method(first, operators.Map, key, index(first, key)), listKind)
		t.nested = true
		return t
	case "contains":
		return known(contains(a[0], a[1].cel), boolKind)
	case "starts_with":
		return known(method(first, "startsWith", a[1].cel), boolKind)
	case "ends_with":
		return known(method(first, "endsWith", a[1].cel), boolKind)
	case "to_string":
		if a[0].kind == textKind {
			return a[0]
		}
		return known(asText(first), textKind)
	case "to_upper":
		return known(method(first, "upperAscii"), textKind)
	case "to_lower":
		return known(method(first, "lowerAscii"), textKind)
	case "regex_match":
		return known(method(textOf(a[1]), "matches", first), boolKind)
	case "split":
		return known(method(first, "split", a[1].cel), listKind)
	case "join":
		return known(method(a[1].cel, "join", first), textKind)
	case "replace_all":
		return known(method(first, "replace", a[1].cel, a[2].cel), textKind)
	default: // to_array
		if a[0].kind == listKind {
			return a[0]
		}
		return known(asList(first), listKind)
	}
}

// contains is true if a list has the element, or a text the part.
func contains(a term, part cel) cel {
	inList, inText := in(part, a.cel), method(a.cel, "contains", part)
	switch a.kind {
	case listKind:
		return inList
	case textKind:
		return inText
	default:
		return choose(isType(a.cel, "string"), inText, inList)
	}
}

// textOf is the text of a scalar.
func textOf(t term) cel {
	if t.kind == textKind {
		return t.cel
	}
	return asText(t.cel)
}
