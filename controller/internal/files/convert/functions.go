// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"github.com/kyverno/go-jmespath"
)

// function converts a call. Arguments that JMESPath does not accept give an error in CEL as well.
func (c *converter) function(n jmespath.ASTNode, s scope, field string) (term, error) {
	name, _ := n.Value.(string)
	arguments := make([]term, len(n.Children))
	var guards []cel
	for i, child := range n.Children {
		var err error
		if arguments[i], err = c.node(child, s, field); err != nil {
			return term{}, err
		}
		guards = append(guards, arguments[i].guards...)
		if arguments[i].present != always {
			guards = append(guards, arguments[i].present)
		}
	}
	wanted, ok := arity[name]
	if !ok || len(arguments) != wanted {
		return term{}, refuse(field, byHand, "the function %s() of JMESPath has no counterpart", name)
	}
	t := c.apply(name, arguments)
	t.guards = append(t.guards, guards...)
	return t, nil
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
		return known(call(first, "size"), numberKind)
	case "keys":
		key := c.variable("key")
		return known(call(first, "map", key, key), listKind)
	case "values":
		key := c.variable("key")
		return term{cel: call(first, "map", key, first.in(bindsPrimary)+"["+key+"]"), kind: listKind, present: always, nested: true}
	case "contains":
		in := comparison(a[1].in(bindsSum) + " in " + first.in(bindsSum))
		within := call(first, "contains", a[1].text)
		switch a[0].kind {
		case listKind:
			return known(in, boolKind)
		case textKind:
			return known(within, boolKind)
		default:
			return known(choose(comparison("type("+first.text+") == string"), within, in), boolKind)
		}
	case "starts_with":
		return known(call(first, "startsWith", a[1].text), boolKind)
	case "ends_with":
		return known(call(first, "endsWith", a[1].text), boolKind)
	case "to_string":
		if a[0].kind == textKind {
			return a[0]
		}
		return known(primary(fmt.Sprintf("string(%s)", first.text)), textKind)
	case "to_upper":
		return known(call(first, "upperAscii"), textKind)
	case "to_lower":
		return known(call(first, "lowerAscii"), textKind)
	case "regex_match":
		return known(call(textOf(a[1]), "matches", first.text), boolKind)
	case "split":
		return known(call(first, "split", a[1].text), listKind)
	case "join":
		return known(call(a[1].cel, "join", first.text), textKind)
	case "replace_all":
		return known(call(first, "replace", a[1].text, a[2].text), textKind)
	default: // to_array
		if a[0].kind == listKind {
			return a[0]
		}
		return known(choose(comparison("type("+first.text+") == list"), first, primary("["+first.text+"]")), listKind)
	}
}

// textOf is the text of a scalar.
func textOf(t term) cel {
	if t.kind == textKind {
		return t.cel
	}
	return primary("string(" + t.text + ")")
}
