// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"slices"
	"strconv"
	"strings"
)

// oversize is the longest string or list that is made to be too long.
const oversize = 5000

// violation returns a value that breaks one of the keywords of a schema, or is of another type.
func (g *generator) violation(s *Schema, depth int) *Value {
	if g.chance(0.4) {
		return g.oddity(depth)
	}
	var ways []func() *Value
	add := func(is bool, way func() *Value) {
		if is {
			ways = append(ways, way)
		}
	}
	number := func(value float64) *Value { return Literal(strconv.FormatFloat(value, 'f', -1, 64)) }
	add(s.MaxLength != nil && *s.MaxLength < oversize, func() *Value { return String(strings.Repeat(pick(g, "x", "é"), int(*s.MaxLength)+1)) })
	add(s.MinLength != nil && *s.MinLength > 0, func() *Value { return String(strings.Repeat("y", int(*s.MinLength)-1)) })
	add(s.Pattern != "" || s.Format != "" && s.Type == "string", func() *Value { return String(pick(g, wrongTexts()...)) })
	add(len(s.Enum) > 0, func() *Value { return pick(g, String("Nonsense"), String(""), Literal("17")) })
	add(s.Maximum != nil, func() *Value { return number(*s.Maximum + pick(g, 0, 1, 0.5, 1e6)) })
	add(s.Minimum != nil, func() *Value { return number(*s.Minimum - pick(g, 0, 1, 0.5, 1e6)) })
	add(s.MultipleOf != nil, func() *Value { return number(*s.MultipleOf * 1.5) })
	add(s.Type == "integer" || s.Type == "number", func() *Value { return Literal(g.noInteger()) })
	add(s.items != nil && s.MaxItems != nil && *s.MaxItems < 100, func() *Value { return g.list(s, int(*s.MaxItems)+1, depth) })
	add(s.items != nil && s.MinItems != nil && *s.MinItems > 0, func() *Value { return g.list(s, int(*s.MinItems)-1, depth) })
	add(s.items != nil, func() *Value { return g.twice(s, depth) })
	add(s.Type == "object", func() *Value { return g.short(s, depth) })
	add(s.XIntOrString, func() *Value { return pick(g, Literal("1.5"), Literal("true"), Literal("1e3"), Array()) })
	if len(ways) == 0 {
		return g.oddity(depth)
	}
	return pick(g, ways...)()
}

// list returns a list of so many items.
func (g *generator) list(s *Schema, items, depth int) *Value {
	v := Array()
	for range items {
		v.Append(g.value(s.items, depth+1))
	}
	return v
}

// twice returns a list that has an item, or the keys of one, twice.
func (g *generator) twice(s *Schema, depth int) *Value {
	v := g.list(s, 1+g.IntN(2), depth)
	again := v.members[0].value.Clone()
	if again.open == '{' {
		other := g.value(s.items, depth+1)
		for i, m := range other.members {
			if slices.ContainsFunc(s.XListMapKeys, func(key string) bool { return quote(key) == m.key }) {
				if first := again.member(m.key); first != nil {
					other.members[i].value = first
				}
			}
		}
		again = pick(g, again, other)
	}
	v.Append(again)
	return v
}

// short returns an object without one of its required fields, or with one that it must not have.
func (g *generator) short(s *Schema, depth int) *Value {
	v := g.object(s, depth)
	switch {
	case len(s.Required) > 0 && g.chance(0.5):
		v.Remove(pick(g, s.Required...))
	case s.XEmbeddedResource:
		v.Set(pick(g, "apiVersion", "kind", "metadata"), pick(g, Null(), String(""), Literal("1"), String("a/b/c"), Object()))
	default:
		v.Set(pick(g, "unknown", "kind", "metadata", "status", ""), g.any(depth+1))
	}
	return v
}

// damaged returns a copy of a valid object in which one or two places are broken. Only these can be the reason why it
// is refused, or why something in it is dropped.
func (g *generator) damaged(v *Value, s *Schema) *Value {
	v = v.Clone()
	for range 1 + g.IntN(2) {
		places := placesIn(v, s, nil)
		if len(places) == 0 {
			return v
		}
		p := pick(g, places...)
		switch m := &p.in.members[p.index]; g.IntN(8) {
		case 0:
			p.in.members = slices.Delete(p.in.members, p.index, p.index+1)
		case 1:
			p.in.members = append(p.in.members, member{m.key, m.value.Clone()})
		case 2:
			m.key = strings.ToUpper(m.key)
		case 3:
			m.value = Null()
		default:
			m.value = g.violation(p.schema, 3)
		}
	}
	return v
}

// place is a member of an object or an array, and its schema.
type place struct {
	in     *Value
	index  int
	schema *Schema
}

// placesIn returns all places in a value whose schema is known.
func placesIn(v *Value, s *Schema, found []place) []place {
	for i, m := range v.members {
		schema := s.items
		if v.open == '{' {
			key := strings.Trim(m.key, `"`)
			if schema = s.fields[key]; schema == nil {
				schema = s.values
			}
		}
		if schema != nil {
			found = placesIn(m.value, schema, append(found, place{v, i, schema}))
		}
	}
	return found
}
