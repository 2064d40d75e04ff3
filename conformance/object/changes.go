// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// maxChanges is how many changes are worth trying, maxAlike how many of them that are much alike.
	maxChanges, maxAlike = 20, 5
	// maxItems is how many items of a list are looked into.
	maxItems = 3
	// maxMissing is how deep changes add what is missing.
	maxMissing = 3
	// addedKey is what a change adds to maps.
	addedKey = "conformance"
)

// The scores of changes: the least ones are tried first.
const (
	scoreCondition = iota
	scoreDescription
	scoreNewDescription
	scoreText
	scoreData
	scoreNewData
	scoreNumber
	scoreNewText
	scoreNewNumber
	scoreOpen
	scoreSpecialText
	scoreNewSpecialText
	scoreFlag
	scoreEnum
	scoreMap
	scoreNewFlag
	scoreNewObject
	scoreNewList
	// scoreReference is added for what may have to fit to something else, scoreFixed for what a rule compares with its
	// earlier value.
	scoreReference = 20
	scoreFixed     = 40
)

type change struct {
	score int
	path  []any // Names of fields and indexes of items.
	value any
}

// finder looks for changes of an object.
type finder struct {
	builder *builder
	// status says that a controller makes these changes.
	status bool
	found  []change
}

func newFinder(schemas *Schemas) *finder { return &finder{builder: newBuilder(schemas)} }

func (f *finder) add(score int, path []any, value any) {
	f.found = append(f.found, change{score: score, path: slices.Clone(path), value: value})
}

// changed returns copies of an object with the best changes.
func (f *finder) changed(object *unstructured.Unstructured) []*unstructured.Unstructured {
	slices.SortStableFunc(f.found, func(a, b change) int {
		return cmp.Or(a.score-b.score, len(a.path)-len(b.path))
	})
	var first, rest []change
	alike := map[int]int{}
	for _, one := range f.found {
		if alike[one.score]++; alike[one.score] <= maxAlike {
			first = append(first, one)
		} else {
			rest = append(rest, one)
		}
	}
	first = append(first, rest...)
	var copies []*unstructured.Unstructured
	for _, one := range first[:min(len(first), maxChanges)] {
		next := object.DeepCopy()
		next.Object, _ = put(next.Object, one.path, one.value).(map[string]any)
		copies = append(copies, next)
	}
	return copies
}

// put returns a value in which another one is at a path. What is missing on the way is made.
func put(in any, path []any, value any) any {
	if len(path) == 0 {
		return runtime.DeepCopyJSONValue(value)
	}
	switch step := path[0].(type) {
	case int:
		list, _ := in.([]any)
		for len(list) <= step {
			list = append(list, nil)
		}
		list[step] = put(list[step], path[1:], value)
		return list
	default:
		fields, _ := in.(map[string]any)
		if fields == nil {
			fields = map[string]any{}
		}
		name := fmt.Sprint(step)
		fields[name] = put(fields[name], path[1:], value)
		return fields
	}
}

// fields finds changes in the fields of an object.
func (f *finder) fields(path []any, nodes []*node, object map[string]any, penalty int, but ...string) {
	v := f.builder.schemas.view(true, nodes...)
	names := v.names()
	if v.isMap() || isData(path, v, object) {
		f.addKey(path, object, v.others(), penalty+dataScore(path, object))
	} else if !v.unknown() && v.open() {
		f.addKey(path, object, nil, penalty+scoreOpen)
	}
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "metadata" || slices.Contains(but, name) || f.status && name == "conditions" {
			continue
		}
		f.field(append(slices.Clone(path), name), v.at(name), object[name], penalty)
	}
}

// isData tells that an object of which no schema is known is a map of strings.
func isData(path []any, v *view, object map[string]any) bool {
	if !v.unknown() || !named(path, "data") || len(object) == 0 {
		return false
	}
	for _, value := range object {
		if _, ok := value.(string); !ok {
			return false
		}
	}
	return true
}

// named tells that the last name of a path ends with one of these.
func named(path []any, words ...string) bool {
	return len(path) > 0 && endsWith(fmt.Sprint(path[len(path)-1]), words...)
}

// dataScore tells maps that are there for their own sake from those that others look into.
func dataScore(path []any, object map[string]any) int {
	switch {
	case !named(path, "data", "parameters", "properties"):
		return scoreMap
	case len(object) > 0:
		return scoreData
	default:
		return scoreNewData
	}
}

// addKey finds the change that adds a key, or changes what an earlier change has added.
func (f *finder) addKey(path []any, object map[string]any, nodes []*node, score int) {
	value := any("checked")
	if len(nodes) > 0 {
		value = f.builder.value("", len(path), nodes...)
	}
	if before, exists := object[addedKey]; exists && same(before, value) {
		value = otherScalar(f.builder.schemas.view(true, nodes...), before)
	}
	if value != nil {
		f.add(score, append(slices.Clone(path), addedKey), value)
	}
}

// field finds changes of a field; nil if it is missing.
func (f *finder) field(path []any, nodes []*node, value any, penalty int) {
	name := fmt.Sprint(path[len(path)-1])
	if starts(name) && !f.status || len(path) > maxDepth {
		return
	}
	v := f.builder.schemas.view(true, nodes...)
	if v.fixed() {
		penalty += scoreFixed
	}
	switch value := value.(type) {
	case nil:
		f.missing(path, name, nodes, penalty)
	case map[string]any:
		f.fields(path, nodes, value, penalty)
	case []any:
		f.items(path, v, value, penalty)
	default:
		if other := otherScalar(v, value); other != nil {
			f.add(penalty+f.score(name, v, value, false), path, other)
		}
	}
}

// items finds changes in a list.
func (f *finder) items(path []any, v *view, list []any, penalty int) {
	nodes, keys := v.items(), v.listKeys()
	of := f.builder.schemas.view(true, nodes...)
	for i, item := range list[:min(len(list), maxItems)] {
		where := append(slices.Clone(path), i)
		if fields, ok := item.(map[string]any); ok {
			f.fields(where, nodes, fields, penalty, keys...)
		} else if other := otherScalar(of, item); other != nil {
			f.add(penalty+scoreMap, where, other)
		}
	}
	if len(list) == 0 && len(nodes) > 0 {
		f.add(penalty+scoreNewList, path, []any{f.builder.item("", len(path), v, 0)})
	}
}

// missing finds changes that add a field.
func (f *finder) missing(path []any, name string, nodes []*node, penalty int) {
	if len(nodes) == 0 {
		return
	}
	v := f.builder.schemas.view(true, nodes...)
	value := f.builder.value(name, len(path), nodes...)
	switch value := value.(type) {
	case nil:
	case map[string]any:
		switch {
		case v.isMap():
			f.addKey(path, nil, v.others(), penalty+dataScore(path, nil))
		case len(value) > 0:
			f.add(penalty+scoreNewObject, path, value)
		case len(path) <= maxMissing:
			f.fields(path, nodes, nil, penalty+scoreNewObject)
		}
	case []any:
		if len(value) == 0 {
			value = []any{f.builder.item(name, len(path), v, 0)}
		}
		f.add(penalty+scoreNewList, path, value)
	case bool:
		f.add(penalty+scoreNewFlag, path, true)
	default:
		f.add(penalty+f.score(name, v, value, true), path, value)
	}
}

// score tells how likely a server allows a change of a scalar.
func (f *finder) score(name string, v *view, value any, missing bool) int {
	choose := func(there, added int) int {
		if missing {
			return added
		}
		return there
	}
	points := 0
	if refers(name) && !f.status {
		points = scoreReference
	}
	_, isText := value.(string)
	_, isFlag := value.(bool)
	switch {
	case isFlag:
		return points + choose(scoreFlag, scoreNewFlag)
	case len(v.enum()) > 0:
		return points + choose(scoreEnum, scoreNewFlag)
	case !isText && f.status:
		return choose(scoreDescription, scoreNewDescription) // What controllers count.
	case !isText:
		return points + choose(scoreNumber, scoreNewNumber)
	case v.format() != "" || v.pattern() != "" || special(value):
		return points + choose(scoreSpecialText, scoreNewSpecialText)
	case describes(name):
		return choose(scoreDescription, scoreNewDescription)
	default:
		return points + choose(scoreText, scoreNewText)
	}
}

// describes tells that a field is for people.
func describes(name string) bool {
	return endsWith(name, "description", "note", "message", "comment", "title", "summary", "displayname", "text", "reason", "details")
}

// refers tells that a field may point to something else, or decide what or how much it is.
func refers(name string) bool {
	return endsWith(name, "name", "namespace", "kind", "apiversion", "apigroup", "uid", "id", "ref", "class", "image", "host", "url", "key", "path",
		"type", "version", "port", "ip", "mode", "policy", "provider", "controller", "count", "size")
}

func endsWith(name string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.HasSuffix(strings.ToLower(name), word) })
}

// conditions finds the change that adds a condition, or changes the one that an earlier change has added.
func (f *finder) conditions(status map[string]any, nodes []*node) {
	of := f.builder.schemas.view(true, nodes...)
	if types := of.types(); len(nodes) == 0 || len(types) > 0 && !slices.Contains(types, "array") {
		return
	}
	condition, ok := f.condition(of.items())
	if !ok {
		return
	}
	list, _ := status["conditions"].([]any)
	index := slices.IndexFunc(list, func(item any) bool {
		fields, _ := item.(map[string]any)
		return fields["type"] == condition["type"]
	})
	if index < 0 {
		index = len(list)
	} else if before, _ := list[index].(map[string]any); same(before["message"], condition["message"]) {
		condition["message"] = "checked again"
	}
	f.add(scoreCondition, []any{"status", "conditions", index}, condition)
}

// condition makes one as far as the schema of conditions allows; false if they are something else.
func (f *finder) condition(nodes []*node) (condition map[string]any, ok bool) {
	v := f.builder.schemas.view(true, nodes...)
	if condition, ok = f.builder.value("", 3, nodes...).(map[string]any); !ok && len(v.types()) > 0 {
		return nil, false
	} else if !ok {
		condition = map[string]any{}
	}
	for name, value := range map[string]string{
		"type": "Conformance", "status": "True", "reason": "Checked", "message": "checked",
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	} {
		of := v.property(name)
		field := f.builder.schemas.view(true, of...)
		known := len(of) > 0 || len(v.names()) == 0
		if enum := field.enum(); known && fits(field, value) && (len(enum) == 0 || slices.Contains(enum, any(value))) {
			condition[name] = value
		}
	}
	return condition, true
}

// same compares values of JSON, whatever numbers were read as.
func same(a, b any) bool {
	if x, ok := numberOf(a); ok {
		y, also := numberOf(b)
		return also && x == y
	}
	return reflect.DeepEqual(a, b)
}
