// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// maxDepth is how deep made values are: a schema may require what contains it.
	maxDepth = 16
	// maxValues is how many values are made for one object.
	maxValues = 10000
	// maxCount is how many items, keys or letters are made because a schema wants them.
	maxCount = 1000
)

// builder makes values that schemas allow, with as few optional parts as possible.
type builder struct {
	schemas *Schemas
	made    int
}

func newBuilder(schemas *Schemas) *builder { return &builder{schemas: schemas} }

// value makes a value of a field.
func (b *builder) value(name string, depth int, nodes ...*node) any {
	v := b.schemas.view(true, nodes...)
	b.made++
	if depth > maxDepth || b.made > maxValues {
		return nil
	}
	types := v.types()
	if value, ok := given(v, types); ok {
		return value
	}
	switch {
	case v.intOrString():
		return int64(1)
	case len(types) == 0:
		return b.untyped(name, depth, v)
	}
	switch firstType(types) {
	case "object":
		return b.object(depth, v)
	case "array":
		return b.array(name, depth, v)
	case "integer", "number":
		return numberValue(name, v)
	case "boolean":
		return false
	case "string":
		return stringValue(name, v)
	default:
		return nil
	}
}

// firstType returns the type of which a value is made: that which says most if there are several.
func firstType(types []string) string {
	for _, name := range []string{"object", "array", "string"} {
		if slices.Contains(types, name) {
			return name
		}
	}
	return types[0]
}

// given returns a value that the schema has itself. It skips zero values, which Go programs write wherever there is no
// default.
func given(v *view, types []string) (any, bool) {
	enum := v.enum()
	preset, example := firstValue(v, func(n *node) any { return n.preset }), firstValue(v, func(n *node) any { return n.example })
	for _, value := range slices.Concat([]any{preset}, enum, []any{example}) {
		if isZero(value) || len(enum) > 0 && !slices.ContainsFunc(enum, func(one any) bool { return same(one, value) }) {
			continue
		}
		if len(types) == 0 || slices.ContainsFunc(types, func(name string) bool { return isOfType(value, name) }) {
			return runtime.DeepCopyJSONValue(value), true
		}
	}
	if len(enum) > 0 {
		return runtime.DeepCopyJSONValue(enum[0]), true
	}
	return nil, false
}

// firstValue is pick for what can't be compared.
func firstValue(v *view, of func(*node) any) any {
	for _, n := range v.parts {
		if value := of(n); value != nil {
			return value
		}
	}
	return nil
}

// isZero also tells that of objects and lists with or without content: they get what is required.
func isZero(value any) bool {
	switch value := value.(type) {
	case nil, map[string]any, []any:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	}
	number, _ := numberOf(value)
	return number == 0
}

// untyped makes a value for a schema without a type.
func (b *builder) untyped(name string, depth int, v *view) any {
	switch {
	case v.embedded(), v.preserving(), len(v.names()) > 0, len(v.required()) > 0, len(v.others()) > 0:
		return b.object(depth, v)
	case len(v.items()) > 0:
		return b.array(name, depth, v)
	default:
		return stringValue(name, v)
	}
}

// object makes one with the fields that are required, and those that its default has.
func (b *builder) object(depth int, v *view) map[string]any {
	object := map[string]any{}
	if preset, ok := firstValue(v, func(n *node) any { return n.preset }).(map[string]any); ok {
		object = runtime.DeepCopyJSON(preset)
	}
	if v.embedded() {
		object["apiVersion"], object["kind"], object["metadata"] = "v1", "ConfigMap", map[string]any{"name": "conformance"}
	}
	for _, name := range v.required() {
		if object[name] == nil {
			object[name] = b.value(name, depth+1, v.at(name)...)
		}
	}
	for i := 1; len(object) < v.count(func(n *node) *float64 { return n.minProperties }) && v.isMap(); i++ {
		object["key-"+strconv.Itoa(i)] = b.value("", depth+1, v.others()...)
	}
	return object
}

// array makes one with as few items as allowed.
func (b *builder) array(name string, depth int, v *view) []any {
	if preset, ok := firstValue(v, func(n *node) any { return n.preset }).([]any); ok && len(preset) > 0 {
		return runtime.DeepCopyJSONValue(preset).([]any)
	}
	items := []any{}
	for len(items) < v.count(func(n *node) *float64 { return n.minItems }) && b.made <= maxValues {
		items = append(items, b.item(name, depth, v, len(items)))
	}
	return items
}

// item makes one that is not like those before it, if it can be.
func (b *builder) item(name string, depth int, v *view, index int) any {
	item := b.value(strings.TrimSuffix(name, "s"), depth+1, v.items()...)
	fields, isObject := item.(map[string]any)
	if index == 0 {
		return item
	}
	if !isObject {
		return b.numbered(item, index, v.items())
	}
	of := b.schemas.view(true, v.items()...)
	for _, key := range v.listKeys() {
		fields[key] = b.numbered(fields[key], index, of.property(key))
	}
	return item
}

// numbered returns the value or, if the schema allows that, one that only this index has.
func (b *builder) numbered(value any, index int, nodes []*node) any {
	v := b.schemas.view(true, nodes...)
	if enum := v.enum(); index < len(enum) {
		return enum[index]
	}
	if text, ok := value.(string); ok && fits(v, text+"-"+strconv.Itoa(index)) {
		return text + "-" + strconv.Itoa(index)
	}
	if number, ok := numberOf(value); ok && typeOf(value) == "integer" {
		return int64(number) + int64(index)
	}
	return value
}

// numberValue makes a number: 1 if it is allowed. Nothing is started by it.
func numberValue(name string, v *view) any {
	least, most := bounds(v)
	step, number := stepOf(v), 1.0
	if starts(name) {
		number = 0
	}
	number = math.Ceil(number/step) * step
	if number < least {
		number = math.Ceil(least/step) * step
	}
	if number > most {
		number = math.Floor(most/step) * step
	}
	if number < least || number > most { // No integer is between them.
		number = least + (most-least)/2
	}
	return plainNumber(number)
}

// stepOf returns what numbers are multiples of: 1 if the schema says nothing.
func stepOf(v *view) float64 {
	if step, ok := v.number(func(n *node) *float64 { return n.multipleOf }); ok && step > 0 {
		return step
	}
	return 1
}

// bounds returns the limits of integers and, as good as one can say, of other numbers.
func bounds(v *view) (least, most float64) {
	least, most = math.Inf(-1), math.Inf(1)
	whole := slices.Contains(v.types(), "integer")
	if value, ok := v.number(func(n *node) *float64 { return n.minimum }); ok {
		least = value
		if above := v.any(func(n *node) bool { return n.aboveMinimum }); above && (whole || value == math.Trunc(value)) {
			least = math.Floor(value) + 1
		}
	}
	if value, ok := v.number(func(n *node) *float64 { return n.maximum }); ok {
		most = value
		if below := v.any(func(n *node) bool { return n.belowMaximum }); below && (whole || value == math.Trunc(value)) {
			most = math.Ceil(value) - 1
		}
	}
	if most < least && !whole { // Between 0 and 1, both excluded.
		middle := (most + least) / 2
		return middle, middle
	}
	return least, most
}

// plainNumber returns an integer as such.
func plainNumber(number float64) any {
	if number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		return int64(number)
	}
	if math.IsInf(number, 0) || math.IsNaN(number) {
		return int64(0)
	}
	return number
}

// starts reports whether a greater number or true in a field may start or stop something that runs.
func starts(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"replicas", "parallelism", "completions", "suspend", "paused", "instances", "autoscal"},
		func(part string) bool { return strings.Contains(name, part) })
}
