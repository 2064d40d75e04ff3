// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"cmp"
	"maps"
	"slices"
)

// view is what one or more schemas say together of a value: references and allOf are followed.
// What a part does not say, another may; the first one counts.
type view struct {
	schemas *Schemas
	parts   []*node
	// branches are the schemas of which one or any has to fit.
	branches [][]*node
}

// view returns what nodes say. With choose, the first branch of each oneOf and anyOf belongs to it.
func (s *Schemas) view(choose bool, nodes ...*node) *view {
	v := &view{schemas: s}
	v.add(map[*node]bool{}, choose, nodes)
	return v
}

func (v *view) add(seen map[*node]bool, choose bool, nodes []*node) {
	for _, n := range nodes {
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		v.parts = append(v.parts, n)
		if n.ref != "" {
			v.add(seen, choose, []*node{v.schemas.target(n.ref)})
		}
		v.add(seen, choose, n.allOf)
		v.branches = append(v.branches, n.either...)
		if !choose {
			continue
		}
		for _, branches := range n.either {
			v.add(seen, choose, branches[:1])
		}
	}
}

// pick returns the first thing that is not zero among those of the parts.
func pick[T comparable](v *view, of func(*node) T) T {
	var zero T
	for _, n := range v.parts {
		if value := of(n); value != zero {
			return value
		}
	}
	return zero
}

// any reports whether a part has something.
func (v *view) any(has func(*node) bool) bool { return slices.ContainsFunc(v.parts, has) }

// unknown tells that no schema says anything.
func (v *view) unknown() bool { return len(v.parts) == 0 }

func (v *view) intOrString() bool { return v.any(func(n *node) bool { return n.intOrString }) }
func (v *view) preserving() bool  { return v.any(func(n *node) bool { return n.preserving }) }
func (v *view) embedded() bool    { return v.any(func(n *node) bool { return n.embedded }) }
func (v *view) fixed() bool       { return v.any(func(n *node) bool { return n.fixed }) }
func (v *view) format() string    { return pick(v, func(n *node) string { return n.format }) }
func (v *view) pattern() string   { return pick(v, func(n *node) string { return n.pattern }) }

// types returns the names of the types that a value may have; nil if any.
func (v *view) types() []string { return v.typesOf(map[*node][]string{}) }

// typesOf keeps what it has found: branches may be many and have branches, themselves among them.
func (v *view) typesOf(found map[*node][]string) []string {
	if types := firstList(v, func(n *node) []string { return n.types }); len(types) > 0 {
		return types
	}
	for _, branches := range v.branches {
		if types := v.branchTypes(found, branches); len(types) > 0 {
			return types
		}
	}
	return nil
}

func (v *view) branchTypes(found map[*node][]string, branches []*node) []string {
	var types []string
	for _, branch := range branches {
		some, ok := found[branch]
		if !ok {
			found[branch] = nil
			some = v.schemas.view(false, branch).typesOf(found)
			found[branch] = some
		}
		if len(some) == 0 {
			return nil
		}
		for _, name := range some {
			if !slices.Contains(types, name) {
				types = append(types, name)
			}
		}
	}
	return types
}

func (v *view) enum() []any { return firstList(v, func(n *node) []any { return n.enum }) }

// firstList is pick for lists.
func firstList[T any](v *view, of func(*node) []T) []T {
	for _, n := range v.parts {
		if list := of(n); len(list) > 0 {
			return list
		}
	}
	return nil
}

// names returns those of the properties, in order.
func (v *view) names() []string {
	found := map[string]bool{}
	for _, n := range v.parts {
		for name := range n.properties {
			found[name] = true
		}
	}
	return sortedKeys(found)
}

// property returns the schemas of a property; none if it has no name here.
func (v *view) property(name string) []*node {
	return v.inner(func(n *node) *node { return n.properties[name] })
}

// at returns the schemas of a property, be it one without a name.
func (v *view) at(name string) []*node {
	if nodes := v.property(name); len(nodes) > 0 {
		return nodes
	}
	return v.others()
}

// inner returns a schema in each of the parts that have it.
func (v *view) inner(of func(*node) *node) []*node {
	var nodes []*node
	for _, n := range v.parts {
		if found := of(n); found != nil {
			nodes = append(nodes, found)
		}
	}
	return nodes
}

// branchProperty returns the schemas that branches have for a property.
func (v *view) branchProperty(name string) []*node {
	seen, all := map[*node]bool{}, &view{schemas: v.schemas}
	for todo := slices.Clone(v.branches); len(todo) > 0; todo = todo[1:] {
		before := len(all.branches)
		all.add(seen, false, todo[0])
		todo = append(todo, all.branches[before:]...)
	}
	return all.property(name)
}

func (v *view) required() []string {
	var names []string
	for _, n := range v.parts {
		names = append(names, n.required...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// others returns the schemas of properties without a name.
func (v *view) others() []*node { return v.inner(func(n *node) *node { return n.others }) }

func (v *view) items() []*node { return v.inner(func(n *node) *node { return n.items }) }

func (v *view) listKeys() []string {
	var names []string
	for _, n := range v.parts {
		names = append(names, n.listKeys...)
	}
	return names
}

// open tells that objects may have any properties: nothing is said of them.
func (v *view) open() bool {
	if v.preserving() {
		return true
	}
	return !v.any(func(n *node) bool { return len(n.properties) > 0 || n.others != nil || n.closed })
}

// isMap tells that the properties of objects are keys, not fields.
func (v *view) isMap() bool { return len(v.names()) == 0 && len(v.others()) > 0 }

func (v *view) number(of func(*node) *float64) (float64, bool) {
	if value := pick(v, of); value != nil {
		return *value, true
	}
	return 0, false
}

// count is number for what counts something.
func (v *view) count(of func(*node) *float64) int {
	value, _ := v.number(of)
	return int(min(max(value, 0), maxCount))
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
