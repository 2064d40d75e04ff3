// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"strconv"

	"github.com/kyverno/go-jmespath"
)

// Shape is what the data of a table look like to an expression.
type Shape int

const (
	// List is an answer of the API server: {apiVersion, kind, metadata, items}.
	List Shape = iota
	// Array is an array of the objects.
	Array
)

// stream is a part of an expression that treats each object separately: its value over an array of
// objects is the concatenation of its values over each of them.
type stream struct {
	key string
	// over is evaluated over an array of objects.
	over node
	// needed is what it reads of an object; nil is everything.
	needed *need
	// alternatives are sets of probes. Each set alone finds all objects that may contribute.
	alternatives [][]probe
}

// objects is the stream of the objects themselves.
var objects = &stream{key: keyOf(current), over: current}

// input is a stream whose value the residual expression reads.
type input struct {
	*stream
	// leading: if it fails, the whole expression fails with that error.
	leading bool
}

// plan is an expression split into streams, and the residual expression, which reads their values from
// fields of its own input.
type plan struct {
	// original is evaluated over the data, and residual over the inputs. Their results are the same
	// unless an input fails; then original is evaluated instead.
	original, residual node
	inputs             []input
	// list: residual needs all the data. The stream of objects is then the last input.
	list bool
	// header: residual reads the metadata of the list.
	header bool
	// count: residual reads the number of objects.
	count bool
	// pure: the result depends on the data only.
	pure bool
}

// The fields of the input of residual that a list does not have.
const (
	inputField = "\x00docket-input-"
	listField  = "\x00docket-list"
	countField = "\x00docket-count"
)

// maxAlternatives bounds the indexes that one filter makes.
const maxAlternatives = 4

func inputName(i int) string { return inputField + strconv.Itoa(i) }

func listHas(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata" || name == "items"
}

// newPlan splits an expression.
func newPlan(parsed node, aliases []string, shape Shape, impure map[string]bool) *plan {
	has := listHas
	if shape == Array {
		has = func(string) bool { return false }
	}
	original := resolve(parsed, aliases, has)
	p := &planner{shape: shape, impure: impure}
	p.original, p.pure = original, !calls(original, impure)
	p.residual = p.rewrite(original, true)
	if p.list {
		p.addInput(objects, false)
	}
	return &p.plan
}

type planner struct {
	plan
	shape  Shape
	impure map[string]bool
}

// rewrite returns the equivalent of n, a part of the original expression that is evaluated over the
// data, for the input of the residual expression.
func (p *planner) rewrite(n node, leading bool) node {
	if over, ok := p.chain(n, p.isObjects, true); ok {
		return field(inputName(p.addInput(p.stream(over), leading)))
	}
	if n.NodeType == jmespath.ASTFunctionExpression && n.Value == "length" && len(n.Children) == 1 {
		if over, ok := p.chain(n.Children[0], p.isObjects, true); ok && isCurrent(over) {
			p.count = true
			return field(countField)
		}
	}
	switch n.NodeType {
	case jmespath.ASTCurrentNode, jmespath.ASTIdentity:
		p.list = true
		return field(listField)
	case jmespath.ASTIndex, jmespath.ASTSlice:
		p.list = true
		return node{NodeType: jmespath.ASTSubexpression, Children: []node{field(listField), n}}
	case jmespath.ASTField:
		if p.shape == Array { // An array has no fields, and that is no error.
			return literal(nil)
		}
		p.header = p.header || isField(n, "metadata")
		return n
	default:
	}
	swallows := n.NodeType == jmespath.ASTFilterProjection || n.NodeType == jmespath.ASTFlatten ||
		n.NodeType == jmespath.ASTValueProjection
	for _, i := range inPlace(n) {
		if n.NodeType == jmespath.ASTPipe && len(inPlace(n)) == 2 {
			if i == 1 { // The first part hands on what both are evaluated over.
				n = with(n, 1, p.rewrite(n.Children[1], leading))
			}
			continue
		}
		n = with(n, i, p.rewrite(n.Children[i], leading && i == 0 && !swallows))
	}
	return n
}

// isObjects reports whether n, evaluated over the data, is the array of objects.
func (p *planner) isObjects(n node) bool {
	if p.shape == Array {
		return isCurrent(n)
	}
	return isField(n, "items")
}

// chain returns n in the form in which it is evaluated over an array of objects, if it treats each
// element separately: if it is a chain of projections, filters and flattenings, whose results over a
// concatenation of two arrays are the concatenated results over each. base recognises the array; flat
// tells that its elements are not arrays.
func (p *planner) chain(n node, base func(node) bool, flat bool) (node, bool) {
	if base(n) {
		return current, true
	}
	switch n.NodeType {
	case jmespath.ASTFlatten:
		over, ok := p.chain(n.Children[0], base, flat)
		if ok && isCurrent(over) && flat {
			return current, true
		}
		return with(n, 0, over), ok
	case jmespath.ASTProjection, jmespath.ASTFilterProjection:
		for _, child := range n.Children[1:] {
			if calls(child, p.impure) {
				return node{}, false
			}
		}
		over, ok := p.chain(n.Children[0], base, flat)
		if ok && n.NodeType == jmespath.ASTProjection && isCurrent(over) && isCurrent(n.Children[1]) {
			return current, true // It would drop null only, which chains don't have.
		}
		return with(n, 0, over), ok
	case jmespath.ASTPipe:
		if isCurrent(n.Children[0]) {
			return p.chain(n.Children[1], base, flat)
		}
		first, ok := p.chain(n.Children[0], base, flat)
		if !ok {
			return node{}, false
		}
		second, ok := p.chain(n.Children[1], isCurrent, flat && isCurrent(first))
		if isCurrent(first) {
			return second, ok
		}
		return node{NodeType: jmespath.ASTPipe, Children: []node{first, second}}, ok
	default:
		return node{}, false
	}
}

func (p *planner) stream(over node) *stream {
	if isCurrent(over) {
		return objects
	}
	s := &stream{key: keyOf(over), over: over, needed: needOf(over)}
	for n := over; len(n.Children) > 0; n = n.Children[0] {
		if n.NodeType == jmespath.ASTFilterProjection && isCurrent(n.Children[0]) {
			s.alternatives = usable(alternatives(n.Children[2]))
		}
	}
	return s
}

// usable drops alternatives that can't be indexed: the keys of an object have to be the same each time
// they are computed.
func usable(alternatives [][]probe) [][]probe {
	alternatives = slices.DeleteFunc(alternatives, func(probes []probe) bool {
		return slices.ContainsFunc(probes, func(p probe) bool { return !isOrdered(p.of) })
	})
	alternatives = alternatives[:min(len(alternatives), maxAlternatives)]
	for _, probes := range alternatives {
		for i := range probes {
			probes[i].needed = needOf(probes[i].of)
		}
	}
	return alternatives
}

// addInput returns the position of a stream among the inputs, and adds it if it is missing.
func (p *planner) addInput(s *stream, leading bool) int {
	for i := range p.inputs {
		if p.inputs[i].key == s.key {
			p.inputs[i].leading = p.inputs[i].leading || leading
			return i
		}
	}
	p.inputs = append(p.inputs, input{s, leading})
	return len(p.inputs) - 1
}
