// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
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
	boolean
)

// node is a part of a schema, made so that the JSON can be compared with it as it is
// read. It holds the few rules that the schemas of reports use. A part with any other
// rule is of kind unknown.
type node struct {
	kind valueKind
	// members of an object, in the order of their names.
	members []member
	// required is how many members an object must have.
	required int
	// others is the schema of members that are not named; nil if there must be none.
	others *node
	// items is the schema of an array's items.
	items *node
	// enum holds the values that a text may have, as JSON; nil for any.
	enum [][]byte
	// bits is the size of an integer.
	bits int
}

type member struct {
	// quoted is the name as JSON.
	quoted   []byte
	name     string
	node     *node
	required bool
}

// compile returns the node of s. Members of the root that skip names are left out.
func compile(s *structuralschema.Structural, skip func(string) bool) *node {
	if s == nil || !plain(s) {
		return &node{}
	}
	switch s.Type {
	case "object":
		return compileObject(s, skip)
	case "array":
		if s.XListType != nil && *s.XListType != "atomic" {
			return &node{} // Its items must be unique.
		}
		return &node{kind: array, items: compile(s.Items, nil)}
	case "string":
		n := &node{kind: text}
		for _, value := range enumOf(s) {
			word, ok := value.Object.(string)
			if !ok {
				return &node{}
			}
			n.enum = append(n.enum, quote(word))
		}
		return n
	case "integer":
		n := &node{kind: integer, bits: 64}
		if s.ValueValidation != nil && s.ValueValidation.Format == "int32" {
			n.bits = 32
		}
		return n
	case "boolean":
		return &node{kind: boolean}
	}
	return &node{}
}

func compileObject(s *structuralschema.Structural, skip func(string) bool) *node {
	n := &node{kind: object}
	var required []string
	if s.ValueValidation != nil {
		required = s.ValueValidation.Required
	}
	for name := range s.Properties {
		if skip != nil && skip(name) {
			continue
		}
		property := s.Properties[name]
		m := member{quoted: quote(name), name: name, node: compile(&property, nil), required: slices.Contains(required, name)}
		if m.required {
			n.required++
		}
		n.members = append(n.members, m)
	}
	slices.SortFunc(n.members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	if s.AdditionalProperties != nil {
		n.others = compile(s.AdditionalProperties.Structural, nil)
	}
	return n
}

func enumOf(s *structuralschema.Structural) []structuralschema.JSON {
	if s.ValueValidation == nil {
		return nil
	}
	return s.ValueValidation.Enum
}

// plain says whether s has only rules that a node can hold.
func plain(s *structuralschema.Structural) bool {
	if s.Nullable || s.Default.Object != nil || len(s.ValidationExtensions.XValidations) > 0 {
		return false
	}
	if s.XPreserveUnknownFields || s.XEmbeddedResource || s.XIntOrString {
		return false
	}
	if s.ValueValidation == nil {
		return true
	}
	known := structuralschema.ValueValidation{
		Format: s.ValueValidation.Format, Enum: s.ValueValidation.Enum, Required: s.ValueValidation.Required,
	}
	integerFormat := s.Type == "integer" && (known.Format == "int32" || known.Format == "int64")
	enumOfText := s.Type == "string" || known.Enum == nil
	return reflect.DeepEqual(*s.ValueValidation, known) && enumOfText && (known.Format == "" || integerFormat)
}

// quote returns text as JSON, in the form in which documents have it.
func quote(text string) []byte {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil // It is no text: nothing in a document equals it.
	}
	return quoted
}
