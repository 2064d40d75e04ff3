// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"github.com/kyverno/go-jmespath"
)

// probe is a question to an index: which objects have this value there?
type probe struct {
	source
	want any
}

// source is what an index is made of: values of an expression over an object.
type source struct {
	of node
	// depth is how many arrays the values are in.
	depth int
	// needed is what the expression looks at in an object; nil is all.
	needed *need
	// strict: an object for which the expression gives no array is in question whatever is asked.
	strict bool
}

// maxProbes bounds what one filter asks.
const maxProbes = 64

// alternatives returns sets of probes for a condition, each of which finds all objects for which the
// condition may be true or fail.
//
// Invariant: for an object that a set doesn't find, and for which its expressions don't fail, the
// condition ends without an error and is false. (Those for which they fail are always found.)
func alternatives(condition node) [][]probe {
	switch condition.NodeType {
	case jmespath.ASTComparator:
		return append(equality(condition), nonEmpty(condition)...)
	case jmespath.ASTAndExpression:
		found := alternatives(condition.Children[0])
		// The first part is evaluated for all: the second one decides only if that can't fail.
		if !mayFail(condition.Children[0]) {
			found = append(found, alternatives(condition.Children[1])...)
		}
		return found
	case jmespath.ASTOrExpression:
		a, b := alternatives(condition.Children[0]), alternatives(condition.Children[1])
		if len(a) == 0 || len(b) == 0 || len(a[0])+len(b[0]) > maxProbes {
			return nil
		}
		return [][]probe{append(append([]probe{}, a[0]...), b[0]...)}
	case jmespath.ASTFilterProjection:
		return within(condition, false)
	case jmespath.ASTFunctionExpression:
		return membership(condition)
	default:
		return nil
	}
}

// equality is about expression == literal.
func equality(comparison node) [][]probe {
	if comparison.Value != equals {
		return nil
	}
	for i, side := range comparison.Children {
		if side.NodeType == jmespath.ASTLiteral && isScalar(side.Value) {
			return [][]probe{{{source{of: comparison.Children[1-i]}, side.Value}}}
		}
	}
	return nil
}

// within is about a filter of an array in the object, which is true if it lets something through.
func within(filter node, strict bool) [][]probe {
	var found [][]probe
	for _, inner := range alternatives(filter.Children[2]) {
		probes := make([]probe, 0, len(inner))
		for _, p := range inner {
			if p.strict { // A projection drops what it would need: null.
				probes = nil
				break
			}
			of := node{NodeType: jmespath.ASTProjection, Children: []node{filter.Children[0], p.of}}
			probes = append(probes, probe{source{of: of, depth: p.depth + 1, strict: strict}, p.want})
		}
		if probes != nil {
			found = append(found, probes)
		}
	}
	return found
}

// nonEmpty is about length(array[?...]) > `0` and the like: comparisons that an empty array fails.
func nonEmpty(comparison node) [][]probe {
	for i, side := range comparison.Children {
		if side.NodeType != jmespath.ASTFunctionExpression || side.Value != "length" || len(side.Children) != 1 ||
			side.Children[0].NodeType != jmespath.ASTFilterProjection ||
			comparison.Children[1-i].NodeType != jmespath.ASTLiteral {
			continue
		}
		empty, err := execute(with(comparison, i, literal(float64(0))), nil, nil)
		if err == nil && empty != true {
			return within(side.Children[0], true)
		}
	}
	return nil
}

// membership is about contains(array, literal) and contains(literals, expression).
func membership(call node) [][]probe {
	if call.Value != "contains" || len(call.Children) != 2 {
		return nil
	}
	in, element := call.Children[0], call.Children[1]
	if element.NodeType == jmespath.ASTLiteral && isScalar(element.Value) {
		// Where it is no array, it may be a string with a part that is looked for, or an error.
		return [][]probe{{{source{of: in, depth: 1, strict: true}, element.Value}}}
	}
	values, ok := in.Value.([]any)
	if in.NodeType != jmespath.ASTLiteral || !ok || len(values) == 0 || len(values) > maxProbes {
		return nil
	}
	probes := make([]probe, 0, len(values))
	for _, value := range values {
		if !isScalar(value) {
			return nil
		}
		probes = append(probes, probe{source{of: element}, value})
	}
	return [][]probe{probes}
}

// isScalar reports whether a value can be looked up. Null can't: projections drop it.
func isScalar(value any) bool {
	switch value.(type) {
	case string, float64, bool:
		return true
	default:
		return false
	}
}

// collect adds the scalars of a value in arrays.
func collect(found []any, value any, depth int) []any {
	if depth > 0 {
		array, _ := value.([]any)
		for _, member := range array {
			found = collect(found, member, depth-1)
		}
		return found
	}
	if isScalar(value) {
		found = append(found, value)
	}
	return found
}
