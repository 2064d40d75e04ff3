// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kyverno/go-jmespath"
)

// node is part of an expression.
type node = jmespath.ASTNode

// equals is the operator of a comparison, whose type the library doesn't export.
var equals = func() any {
	parsed, err := jmespath.NewParser().Parse("a == b")
	if err != nil {
		panic(err)
	}
	return parsed.Value
}()

var current = node{NodeType: jmespath.ASTCurrentNode}

func literal(value any) node { return node{NodeType: jmespath.ASTLiteral, Value: value} }

func field(name string) node { return node{NodeType: jmespath.ASTField, Value: name} }

// isCurrent reports whether n is what it is evaluated over.
func isCurrent(n node) bool {
	return n.NodeType == jmespath.ASTCurrentNode || n.NodeType == jmespath.ASTIdentity
}

func isField(n node, name string) bool { return n.NodeType == jmespath.ASTField && n.Value == name }

// with returns a copy of n with another child.
func with(n node, child int, changed node) node {
	n.Children = slices.Clone(n.Children)
	n.Children[child] = changed
	return n
}

// anyNode reports whether a node of the tree has a property.
func anyNode(n node, has func(node) bool) bool {
	return has(n) || slices.ContainsFunc(n.Children, func(child node) bool { return anyNode(child, has) })
}

// nesting returns how many levels a tree has.
func nesting(n node) int {
	deepest := 0
	for _, child := range n.Children {
		deepest = max(deepest, nesting(child))
	}
	return deepest + 1
}

// calls reports whether an expression calls one of the functions.
func calls(n node, functions map[string]bool) bool {
	return anyNode(n, func(n node) bool {
		name, ok := n.Value.(string)
		return n.NodeType == jmespath.ASTFunctionExpression && ok && functions[name]
	})
}

// isOrdered reports whether an expression gives the same each time; the members of an object are in
// no order.
func isOrdered(n node) bool {
	return !anyNode(n, func(n node) bool {
		return n.NodeType == jmespath.ASTValueProjection ||
			n.NodeType == jmespath.ASTFunctionExpression && (n.Value == "keys" || n.Value == "values")
	})
}

// mayFail reports whether the evaluation of n over something can end with an error that a filter
// passes on; a missing field is no error.
func mayFail(n node) bool {
	return anyNode(n, func(n node) bool {
		switch n.NodeType {
		case jmespath.ASTFunctionExpression, jmespath.ASTSlice, jmespath.ASTExpRef, jmespath.ASTEmpty:
			return true
		default:
			return false
		}
	})
}

// inPlace lists the children that are evaluated over the same value as n itself.
func inPlace(n node) []int {
	switch n.NodeType {
	case jmespath.ASTComparator, jmespath.ASTFunctionExpression, jmespath.ASTKeyValPair,
		jmespath.ASTMultiSelectHash, jmespath.ASTMultiSelectList,
		jmespath.ASTOrExpression, jmespath.ASTAndExpression, jmespath.ASTNotExpression:
		all := make([]int, 0, len(n.Children))
		for i, child := range n.Children {
			if child.NodeType != jmespath.ASTExpRef {
				all = append(all, i)
			}
		}
		return all
	case jmespath.ASTPipe:
		if isCurrent(n.Children[0]) {
			return []int{0, 1}
		}
		return []int{0}
	case jmespath.ASTSubexpression, jmespath.ASTIndexExpression, jmespath.ASTProjection,
		jmespath.ASTFilterProjection, jmespath.ASTFlatten, jmespath.ASTValueProjection:
		return []int{0}
	default:
		return nil
	}
}

// resolve replaces the names by which an expression calls the data themselves, unless the data have
// such a field, and what is then needless.
func resolve(n node, aliases []string, has func(field string) bool) node {
	if n.NodeType == jmespath.ASTField {
		if name, ok := n.Value.(string); ok && slices.Contains(aliases, name) && !has(name) {
			return current
		}
		return n
	}
	for i := 0; i < len(n.Children); i++ {
		// Asked again each time: a first part that has become the data has the second one, too,
		// evaluated over them.
		if slices.Contains(inPlace(n), i) {
			n = with(n, i, resolve(n.Children[i], aliases, has))
		}
	}
	if n.NodeType == jmespath.ASTSubexpression && isCurrent(n.Children[0]) {
		return resolve(n.Children[1], nil, has)
	}
	return n
}

// keyOf returns the same text only for expressions that are the same.
func keyOf(n node) string {
	var text strings.Builder
	writeKey(&text, n)
	return text.String()
}

func writeKey(text *strings.Builder, n node) {
	kind := n.NodeType
	if kind == jmespath.ASTIdentity {
		kind = jmespath.ASTCurrentNode
	}
	fmt.Fprintf(text, "(%d", int(kind))
	switch value := n.Value.(type) {
	case nil:
	case []*int:
		for _, part := range value {
			if part == nil {
				text.WriteString(" _")
			} else {
				fmt.Fprintf(text, " %d", *part)
			}
		}
	case string: // Not as JSON, which replaces what is not UTF-8.
		text.WriteString(strconv.Quote(value))
	case fmt.Stringer:
		fmt.Fprintf(text, " %s", value)
	default:
		if data, err := json.Marshal(value); err == nil {
			text.Write(data)
		} else { // What a parser makes of an expression is JSON.
			fmt.Fprintf(text, " %#v", value)
		}
	}
	for _, child := range n.Children {
		writeKey(text, child)
	}
	text.WriteByte(')')
}
