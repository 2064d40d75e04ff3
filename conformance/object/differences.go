// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxDifferences are as many as people want to read.
const maxDifferences = 20

// Differences returns where an object is not as its schema says: fields that the schema does not
// have, and values of another type. It returns nil if there are none.
//
// A field that is null is like one that is missing. Where a schema says nothing of what an object
// has, it may have anything.
func (s *Schemas) Differences(object *unstructured.Unstructured) []string {
	n := s.kind(object.GroupVersionKind())
	if n == nil {
		return []string{fmt.Sprintf("no schema has %s %s in its x-kubernetes-group-version-kind", object.GetAPIVersion(), object.GetKind())}
	}
	c := &comparer{schemas: s}
	c.fields("", s.view(false, n), object.Object, true)
	return c.found
}

type comparer struct {
	schemas *Schemas
	found   []string
}

func (c *comparer) note(path, format string, args ...any) {
	if len(c.found) < maxDifferences {
		c.found = append(c.found, strings.TrimPrefix(path, ".")+": "+fmt.Sprintf(format, args...))
	}
}

func (c *comparer) value(path string, nodes []*node, value any) {
	if value == nil || len(c.found) >= maxDifferences {
		return
	}
	v := c.schemas.view(false, nodes...)
	types := v.types()
	if v.intOrString() {
		types = []string{"integer", "string"}
	}
	if len(types) > 0 && !slices.ContainsFunc(types, func(name string) bool { return isOfType(value, name) }) {
		c.note(path, "is %s, not %s", shownType(value), strings.Join(withArticles(types), " or "))
		return
	}
	switch value := value.(type) {
	case map[string]any:
		c.fields(path, v, value, v.embedded())
	case []any:
		items := v.items()
		for i, item := range value {
			c.value(path+"["+strconv.Itoa(i)+"]", items, item)
		}
	}
}

// fields compares the fields of an object. Resources have some that a schema need not name.
func (c *comparer) fields(path string, v *view, fields map[string]any, resource bool) {
	others := v.others()
	for _, name := range sortedKeys(fields) {
		nodes, of := v.property(name), path+"."+name
		if len(nodes) == 0 {
			nodes = v.branchProperty(name)
		}
		if resource && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			nodes = append(nodes, c.ofResource(name))
		}
		switch {
		case len(nodes) > 0:
			c.value(of, nodes, fields[name])
		case len(others) > 0:
			c.value(of, others, fields[name])
		case !v.open():
			c.note(of, "the schema does not have this field")
		}
	}
}

func (c *comparer) ofResource(name string) *node {
	switch {
	case name != "metadata":
		return &node{types: []string{"string"}}
	case c.schemas.metadata != nil:
		return c.schemas.metadata
	default:
		return &node{types: []string{"object"}}
	}
}

// isOfType reports whether a value is of a type of OpenAPI; of what is not a type it always is.
func isOfType(value any, name string) bool {
	is := typeOf(value)
	return name == is || name == "number" && is == "integer" ||
		!slices.Contains([]string{"object", "array", "string", "boolean", "number", "integer", "null"}, name)
}

// typeOf returns the type of a value of JSON. A number without fraction is an integer whatever reads it.
func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	}
	if number, ok := numberOf(value); ok && number == math.Trunc(number) {
		return "integer"
	}
	return "number"
}

// numberOf returns a number of JSON.
func numberOf(value any) (float64, bool) {
	switch number := value.(type) {
	case float64:
		return number, true
	case int64:
		return float64(number), true
	default:
		return 0, false
	}
}

// shownType is the type of a value, for people.
func shownType(value any) string { return withArticle(typeOf(value)) }

func withArticle(name string) string {
	switch {
	case name == "null":
		return name
	case strings.ContainsAny(name[:min(1, len(name))], "aeio"):
		return "an " + name
	default:
		return "a " + name
	}
}

func withArticles(names []string) []string {
	var texts []string
	for _, name := range names {
		texts = append(texts, withArticle(name))
	}
	return slices.Compact(texts)
}
