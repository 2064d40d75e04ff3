// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Shape is something special about a value, which schemas decide about and servers may get wrong.
type Shape int

// The shapes.
const (
	// EmptyText is a required string that is empty, where the schema does not say that it must not be.
	EmptyText Shape = iota
	// WholeNumber is an integer that is written with a fraction of zero.
	WholeNumber
	// NullItem is a null in a list of strings.
	NullItem
	// WrongType is a number in the place of a string.
	WrongType
)

// maxShapeDepth is how deep fields are that get a shape.
const maxShapeDepth = 6

// Shaped returns an object with a value of a shape, and the path of the field with it as servers
// write it. The object is nil if the schema has no place for it, or rules beside its types.
func (m *Maker) Shaped(shape Shape) (object *unstructured.Unstructured, field string) {
	f := shaper{builder: newBuilder(m.schemas), shape: shape}
	start := place{nodes: []*node{m.root}, object: m.New().Object}
	for todo := []place{start}; len(todo) > 0; todo = todo[1:] {
		found, more := f.look(todo[0])
		if found != nil {
			return &unstructured.Unstructured{Object: found.object}, pathText(found.path)
		}
		todo = append(todo, more...)
	}
	return nil, ""
}

// shaper looks for the first place for a shape.
type shaper struct {
	builder *builder
	shape   Shape
}

// place is a value in an object.
type place struct {
	path  []any
	nodes []*node
	// object has all that is required for there to be a value at the path.
	object map[string]any
}

// look returns a place among the fields of a value, or the places in which to look next.
func (f *shaper) look(at place) (found *place, more []place) {
	v := f.builder.schemas.view(true, at.nodes...)
	if v.any(func(n *node) bool { return n.rules }) || len(at.path) > maxShapeDepth {
		return nil, nil
	}
	for _, name := range v.names() {
		if len(at.path) == 0 && slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			continue
		}
		next := place{path: append(slices.Clone(at.path), name), nodes: v.property(name)}
		of := f.builder.schemas.view(true, next.nodes...)
		if value, fits := f.fit(name, v, of); fits {
			next.object = with(at.object, next.path, value)
			return &next, nil
		}
		if items := of.items(); slices.Equal(of.types(), []string{"array"}) {
			next.path, next.nodes = append(next.path, 0), items
		}
		if inner := f.builder.schemas.view(true, next.nodes...); slices.Equal(inner.types(), []string{"object"}) && !inner.isMap() {
			next.object = at.object
			if _, there := valueAt(at.object, next.path); !there {
				next.object = with(at.object, next.path, f.builder.value(name, len(next.path), next.nodes...))
			}
			more = append(more, next)
		}
	}
	return nil, more
}

// fit returns the value of the shape for a field of an object if the schemas have a place for it.
func (f *shaper) fit(name string, object, field *view) (value any, fits bool) {
	if field.any(func(n *node) bool { return n.rules || n.nullable }) || len(field.branches) > 0 {
		return nil, false
	}
	is := func(v *view, kind string) bool {
		return slices.Equal(v.types(), []string{kind}) && len(v.branches) == 0
	}
	switch f.shape {
	case EmptyText:
		limited := len(field.enum()) > 0 || field.pattern() != "" || field.format() != "" || field.count(func(n *node) *float64 { return n.minLength }) > 0
		return "", is(field, "string") && !limited && slices.Contains(object.required(), name)
	case WholeNumber:
		least, most := bounds(field)
		_, stepped := field.number(func(n *node) *float64 { return n.multipleOf })
		// Custom resources store it as it is, and can't be scaled by it then.
		return json.Number("1.0"), is(field, "integer") && least <= 1 && 1 <= most && !stepped && len(field.enum()) == 0 && !starts(name)
	case NullItem:
		items := f.builder.schemas.view(true, field.items()...)
		return []any{nil}, is(field, "array") && is(items, "string") && !items.any(func(n *node) bool { return n.nullable })
	default:
		return int64(1), is(field, "string")
	}
}

// with returns a copy of an object with a value at a path.
func with(object map[string]any, path []any, value any) map[string]any {
	next := (&unstructured.Unstructured{Object: object}).DeepCopy()
	changed, _ := put(next.Object, path, value).(map[string]any)
	return changed
}

// valueAt returns what is at a path.
func valueAt(value any, path []any) (found any, there bool) {
	for _, step := range path {
		switch step := step.(type) {
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil, false
			}
			value = list[step]
		default:
			fields, _ := value.(map[string]any)
			if value, there = fields[fmt.Sprint(step)]; !there {
				return nil, false
			}
		}
	}
	return value, true
}

// pathText writes a path as servers do: spec.items[0].name.
func pathText(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, step)
		}
	}
	return b.String()
}
