// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/docket-project/docket/internal/reports/schema"
)

// emptyObject and emptyList answer what is the same for all objects and for all lists.
var (
	emptyObject = value.NewValueInterface(map[string]any{})
	emptyList   = value.NewValueInterface([]any{})
)

// objectValue is an object as the library of managed fields reads it.
type objectValue struct {
	value.Value

	members objectMembers
	// report is what the object was read from; nil for a part of one.
	report *Object
}

func newObjectValue(members objectMembers) objectValue {
	return objectValue{Value: emptyObject, members: members}
}

// objectMembers are values of the library, or what it can make values of.
type objectMembers map[string]any

var (
	_ value.Value = objectValue{}
	_ value.Map   = objectMembers{}
	_ value.Value = &listValue{}
	_ value.List  = listItems{}
)

// valueOf returns a member as a value that the library may take for its own.
func valueOf(member any) value.Value {
	if v, ok := member.(value.Value); ok {
		return v
	}
	return value.NewValueInterface(member)
}

// AsMap implements value.Value.
func (v objectValue) AsMap() value.Map { return v.members }

// AsMapUsing implements value.Value.
func (v objectValue) AsMapUsing(value.Allocator) value.Map { return v.members }

// Unstructured returns the object as a tree of Go values, which shares nothing with v.
func (v objectValue) Unstructured() any {
	tree := make(map[string]any, len(v.members))
	for name, member := range v.members {
		tree[name] = valueOf(member).Unstructured()
	}
	return tree
}

// Set implements value.Map.
func (m objectMembers) Set(name string, v value.Value) { m[name] = v }

// Get implements value.Map.
func (m objectMembers) Get(name string) (value.Value, bool) {
	member, ok := m[name]
	if !ok {
		return nil, false
	}
	return valueOf(member), true
}

// GetUsing implements value.Map.
func (m objectMembers) GetUsing(_ value.Allocator, name string) (value.Value, bool) {
	return m.Get(name)
}

// Has implements value.Map.
func (m objectMembers) Has(name string) bool {
	_, ok := m[name]
	return ok
}

// Delete implements value.Map.
func (m objectMembers) Delete(name string) { delete(m, name) }

// Length implements value.Map.
func (m objectMembers) Length() int { return len(m) }

// Empty implements value.Map.
func (m objectMembers) Empty() bool { return len(m) == 0 }

// Equals implements value.Map.
func (m objectMembers) Equals(other value.Map) bool { return value.MapEquals(m, other) }

// EqualsUsing implements value.Map.
func (m objectMembers) EqualsUsing(a value.Allocator, other value.Map) bool {
	return value.MapEqualsUsing(a, m, other)
}

// Iterate implements value.Map.
func (m objectMembers) Iterate(visit func(string, value.Value) bool) bool {
	for name, member := range m {
		if !visit(name, valueOf(member)) {
			return false
		}
	}
	return true
}

// IterateUsing implements value.Map.
func (m objectMembers) IterateUsing(_ value.Allocator, visit func(string, value.Value) bool) bool {
	return m.Iterate(visit)
}

// Zip implements value.Map.
func (m objectMembers) Zip(other value.Map, order value.MapTraverseOrder, visit func(string, value.Value, value.Value) bool) bool {
	return m.ZipUsing(value.HeapAllocator, other, order, visit)
}

// ZipUsing implements value.Map.
func (m objectMembers) ZipUsing(
	a value.Allocator, other value.Map, order value.MapTraverseOrder, visit func(string, value.Value, value.Value) bool,
) bool {
	if order != value.Unordered {
		tree := value.NewValueInterface(newObjectValue(m).Unstructured())
		return tree.AsMap().ZipUsing(a, other, order, visit)
	}
	for name, member := range m {
		var theirs value.Value
		if other != nil {
			theirs, _ = other.Get(name)
		}
		if !visit(name, valueOf(member), theirs) {
			return false
		}
	}
	if other == nil {
		return true
	}
	return other.IterateUsing(a, func(name string, theirs value.Value) bool {
		return m.Has(name) || visit(name, nil, theirs)
	})
}

// listValue is a list that is decoded when somebody looks into it.
type listValue struct {
	value.Value

	json  []byte
	count int
	items value.Value
}

// decoded returns the list as the library has lists.
func (l *listValue) decoded() value.Value {
	if l.items == nil {
		items, err := schema.ParseValue(l.json)
		if err != nil {
			panic(fmt.Sprintf("a body is no JSON: %v", err)) // It is by construction. There is nothing true to go on with.
		}
		l.items = value.NewValueInterface(items)
	}
	return l.items
}

// AsList implements value.Value.
func (l *listValue) AsList() value.List { return listItems{l} }

// AsListUsing implements value.Value.
func (l *listValue) AsListUsing(value.Allocator) value.List { return listItems{l} }

// Unstructured implements value.Value.
func (l *listValue) Unstructured() any { return l.decoded().Unstructured() }

// listItems gives the items of a listValue.
type listItems struct {
	of *listValue
}

// Length implements value.List.
func (l listItems) Length() int { return l.of.count }

// At implements value.List.
func (l listItems) At(i int) value.Value { return l.of.decoded().AsList().At(i) }

// AtUsing implements value.List.
func (l listItems) AtUsing(a value.Allocator, i int) value.Value {
	return l.of.decoded().AsList().AtUsing(a, i)
}

// Range implements value.List.
func (l listItems) Range() value.ListRange { return l.of.decoded().AsList().Range() }

// RangeUsing implements value.List.
func (l listItems) RangeUsing(a value.Allocator) value.ListRange {
	return l.of.decoded().AsList().RangeUsing(a)
}

// Equals implements value.List. In canonical form, equal lists have equal bytes.
func (l listItems) Equals(other value.List) bool { return l.EqualsUsing(value.HeapAllocator, other) }

// EqualsUsing implements value.List.
func (l listItems) EqualsUsing(a value.Allocator, other value.List) bool {
	if theirs, ok := other.(listItems); ok {
		return bytes.Equal(l.of.json, theirs.of.json)
	}
	return value.ListEqualsUsing(a, l, other)
}
