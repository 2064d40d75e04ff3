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

// stream is a part of an expression that looks at each object for itself: its value over an array of
// objects is that over each of them, put together.
type stream struct {
	key string
	// over is to be evaluated over an array of objects.
	over node
	// needed is what it looks at in an object; nil is all.
	needed *need
	// alternatives are sets of probes, each of which finds all objects that are not without effect.
	alternatives [][]probe
}

// objects is the stream of the objects themselves.
var objects = &stream{key: keyOf(current), over: current}

// slot is where the value of a stream goes.
type slot struct {
	*stream
	// leading: an error of it is that of the expression.
	leading bool
}

// plan is an expression taken apart: streams, and the rest of it, which has fields for them.
type plan struct {
	// whole is the expression over the data themselves; what rest is an equal of, but for errors.
	whole node
	rest  node
	slots []slot
	// list: rest needs all the data. The stream of objects is then the last slot.
	list bool
	// header: rest looks at metadata of the list.
	header bool
	// count: rest looks at the number of objects.
	count bool
	// pure: the same data give the same result.
	pure bool
}

// The fields of what rest is evaluated over that are not those of a list.
const (
	slotField  = "\x00docket-slot-"
	listField  = "\x00docket-list"
	countField = "\x00docket-count"
)

// maxAlternatives bounds the indexes that one filter makes.
const maxAlternatives = 4

func slotName(i int) string { return slotField + strconv.Itoa(i) }

func listHas(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata" || name == "items"
}

// newPlan takes an expression apart.
func newPlan(parsed node, aliases []string, shape Shape, impure map[string]bool) *plan {
	has := listHas
	if shape == Array {
		has = func(string) bool { return false }
	}
	whole := resolve(parsed, aliases, has)
	p := &planner{shape: shape, impure: impure}
	p.whole, p.pure = whole, !calls(whole, impure)
	p.rest = p.place(whole, true)
	if p.list {
		p.slot(objects, false)
	}
	return &p.plan
}

type planner struct {
	plan
	shape  Shape
	impure map[string]bool
}

// place rewrites n, which is evaluated over the data, for what rest is evaluated over.
func (p *planner) place(n node, leading bool) node {
	if over, ok := p.chain(n, p.isObjects, true); ok {
		return field(slotName(p.slot(p.stream(over), leading)))
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
				n = with(n, 1, p.place(n.Children[1], leading))
			}
			continue
		}
		n = with(n, i, p.place(n.Children[i], leading && i == 0 && !swallows))
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

// chain returns n as it has to be evaluated over an array of objects, if it looks at each of its
// members for itself: it is a chain of projections, filters and flattenings, all of which give for
// two arrays put together what they give for each, put together. base says what the array is, flat
// that its members are no arrays.
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

// usable leaves out what an index can't be made of: it has to find again where it has put an object.
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

// slot returns the position of the stream's slot.
func (p *planner) slot(s *stream, leading bool) int {
	for i := range p.slots {
		if p.slots[i].key == s.key {
			p.slots[i].leading = p.slots[i].leading || leading
			return i
		}
	}
	p.slots = append(p.slots, slot{s, leading})
	return len(p.slots) - 1
}
