// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
)

// valueKind is what a value must be.
type valueKind int

const (
	// unknown values are the library's business: nothing is accepted.
	unknown valueKind = iota
	object
	array
	text
	integer
	number
	boolean
	intOrString
	// anything is a value of any type, which is stored as it is, except members and items that the schema knows.
	anything
)

// node is a part of a schema, made so that the JSON can be compared with it as it is
// read.
type node struct {
	kind valueKind
	// nullable values may be null. Other nulls are left out, or become the default.
	nullable bool
	// members of an object, ordered by the length of their names, and then by them.
	members []member
	// required is how many members an object must have.
	required int
	// filled are the indexes of members with a default.
	filled []int
	// others is the schema of members that are not named; nil if there must be none.
	others *member
	// items is the schema of an array's items.
	items *node
	// fill is the default; nil if there is none.
	fill *fill

	rules
}

type member struct {
	// quoted is the name as JSON; nil for whatever is not named.
	quoted []byte
	name   string
	node   *node
	// rank is its place among the names of the object, from 1; 0 for whatever is not named.
	rank     int
	required bool
}

// fill is what the library puts in the place of a value that is missing.
type fill struct {
	json  []byte
	valid bool
}

// free is the schema of what is in values without one.
var free = func() *node {
	n := &node{kind: anything, nullable: true, rules: noRules()}
	n.others, n.items = &member{node: n}, n
	return n
}()

// compile returns the node of a part of a schema. What is in it is stored as it is, where the schema doesn't know it,
// if it is preserved.
func compile(s *structuralschema.Structural, preserved bool) *node {
	if s == nil {
		if preserved {
			return free
		}
		return &node{rules: noRules()}
	}
	n := &node{kind: kindOf(s), nullable: s.Nullable, rules: noRules()}
	switch n.kind {
	case object:
		n.addMembers(s, preserved || s.XPreserveUnknownFields)
	case array:
		n.items = compile(s.Items, preserved || s.XPreserveUnknownFields)
	case anything:
		n.addMembers(s, true)
		n.items = compile(s.Items, true)
	case unknown, text, integer, number, boolean, intOrString:
	}
	n.rules = rulesOf(n, s)
	if s.Default.Object != nil {
		n.fill = fillOf(n, s)
	}
	return n
}

func kindOf(s *structuralschema.Structural) valueKind {
	switch {
	case s.XEmbeddedResource:
		return unknown
	case s.XIntOrString && s.Type == "":
		return intOrString
	case s.Type == "" && s.XPreserveUnknownFields:
		return anything
	}
	return map[string]valueKind{
		"object": object, "array": array, "string": text, "integer": integer, "number": number, "boolean": boolean,
	}[s.Type]
}

func (n *node) addMembers(s *structuralschema.Structural, preserved bool) {
	switch {
	case s.AdditionalProperties != nil:
		n.others = &member{node: compile(s.AdditionalProperties.Structural, false)}
	case preserved:
		n.others = &member{node: free}
	}
	for name, property := range s.Properties {
		n.add(name, compile(&property, false))
	}
	if s.ValueValidation != nil {
		for _, name := range s.ValueValidation.Required {
			n.require(name)
		}
	}
	slices.SortFunc(n.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	for i := range n.members {
		n.members[i].rank = i + 1
	}
	slices.SortFunc(n.members, func(a, b member) int { return compareMembers(a.quoted, b.quoted) })
	for i := range n.members {
		if n.members[i].required {
			n.required++
		}
		if n.members[i].node.fill != nil {
			n.filled = append(n.filled, i)
		}
	}
}

func (n *node) add(name string, of *node) {
	n.members = append(n.members, member{quoted: quote(name), name: name, node: of})
}

// require adds a member if it has no schema by its name.
func (n *node) require(name string) {
	named := func(m member) bool { return m.name == name }
	if !slices.ContainsFunc(n.members, named) {
		of := &node{rules: noRules()}
		if n.others != nil {
			of = n.others.node
		}
		n.add(name, of)
	}
	n.members[slices.IndexFunc(n.members, named)].required = true
}

func compareMembers(a, b []byte) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}

// member returns what is known about a member; nil if there must be no such member.
func (n *node) member(quoted []byte) *member {
	const few = 8
	if len(n.members) <= few {
		for i := range n.members {
			if bytes.Equal(n.members[i].quoted, quoted) {
				return &n.members[i]
			}
		}
		return n.others
	}
	low, high := 0, len(n.members)
	for low < high {
		middle := (low + high) / 2
		if compareMembers(n.members[middle].quoted, quoted) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(n.members) && bytes.Equal(n.members[low].quoted, quoted) {
		return &n.members[low]
	}
	return n.others
}

// fillOf lets the library set the defaults within a default.
func fillOf(n *node, s *structuralschema.Structural) *fill {
	value := runtime.DeepCopyJSONValue(s.Default.Object)
	defaulting.Default(value, s)
	json, err := appendCanonical(nil, value)
	if err != nil {
		return &fill{json: []byte("null")} // It was read from JSON.
	}
	w := walker{data: json}
	return &fill{json: json, valid: w.value(n) && !w.further}
}

// compileRoot returns the node of a whole object. Its type and metadata are no part of it; rules about them are the
// library's.
func compileRoot(s *structuralschema.Structural) *node {
	body := *s
	body.Properties = maps.Clone(s.Properties)
	maps.DeleteFunc(body.Properties, func(name string, _ structuralschema.Structural) bool { return isReserved(name) })
	if s.ValueValidation != nil {
		rules := *s.ValueValidation
		rules.Required = slices.DeleteFunc(slices.Clone(rules.Required), isReserved)
		body.ValueValidation = &rules
	}
	n := compile(&body, false)
	// These count all members.
	n.further = n.further || s.ValueValidation != nil && (s.ValueValidation.MaxProperties != nil || s.ValueValidation.MinProperties != nil)
	for name := range s.Properties {
		if property := s.Properties[name]; name == "metadata" {
			n.further = n.further || len(property.Properties) > 0
		} else if isReserved(name) {
			c := compile(&property, false)
			n.further = n.further || c.kind != text || c.judges()
		}
	}
	return n
}

// quote returns text as JSON, in the form in which documents have it.
func quote(text string) []byte {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil // It is no text: nothing in a document equals it.
	}
	return quoted
}
