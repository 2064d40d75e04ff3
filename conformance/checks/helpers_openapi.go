// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/runner"
)

// noSchemas is why checks of schemas are left out.
const noSchemas = "the server publishes no OpenAPI v3 schemas of these kinds, which another check reports"

// openAPIDocument is that of version 3 of a group version. What is not looked at is not read: documents
// are large. It is for one goroutine.
type openAPIDocument struct {
	*runner.Response

	raw   map[string]json.RawMessage
	read  map[string]openAPISchema
	paths map[string]json.RawMessage
}

// readOpenAPI returns the document of the group version; nil if there is none that can be read.
func readOpenAPI(p *runner.Probe) *openAPIDocument {
	response := p.Send(runner.Get("/openapi/v3" + runner.GroupVersionPath(p.GroupVersion)))
	var content struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
		Paths map[string]json.RawMessage `json:"paths"`
	}
	if !response.OK() || json.Unmarshal(response.Body, &content) != nil {
		return nil // Checks that need it say so.
	}
	return &openAPIDocument{response, content.Components.Schemas, map[string]openAPISchema{}, content.Paths}
}

// judgeKinds has judge say what is wrong with the schema of each kind.
func judgeKinds(p *runner.Probe, expected string, judge func(document *openAPIDocument, kind string, schema openAPISchema) []string) {
	document := readOpenAPI(p)
	var wrong []string
	judged := 0
	for _, resource := range p.Resources {
		kind := kindOf(resource)
		if found := document.kind(kind); found != nil {
			judged++
			wrong = append(wrong, judge(document, kind.Kind, found)...)
		}
	}
	if judged == 0 {
		runner.Leave(noSchemas)
	}
	failIfAny(document.Response, wrong, expected)
}

// schema returns that of a name; nil if there is none.
func (d *openAPIDocument) schema(name string) openAPISchema {
	if schema, ok := d.read[name]; ok {
		return schema
	}
	d.read[name] = readSchema(d.raw[name])
	return d.read[name]
}

// kind returns the schema of a kind; nil if there is none.
func (d *openAPIDocument) kind(kind schema.GroupVersionKind) openAPISchema {
	if d == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.raw)) {
		if isOfKind(d.raw[name]) && slices.Contains(d.schema(name).kinds(), kind) {
			return d.schema(name)
		}
	}
	return nil
}

// isOfKind reports whether a schema can be that of a kind, without reading it.
func isOfKind(raw json.RawMessage) bool {
	return bytes.Contains(raw, []byte(`"x-kubernetes-group-version-kind"`))
}

// target returns what a reference points to; nil if that is not in the document.
func (d *openAPIDocument) target(ref string) openAPISchema {
	name, ok := strings.CutPrefix(ref, "#/components/schemas/")
	if !ok {
		return nil
	}
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return d.schema(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
}

// parts returns a schema and all that it refers to or consists of.
func (d *openAPIDocument) parts(s openAPISchema) []openAPISchema {
	var parts []openAPISchema
	seen := map[string]bool{}
	for todo := []openAPISchema{s}; len(todo) > 0; todo = todo[1:] {
		part := todo[0]
		parts = append(parts, part)
		if ref := part.text("$ref"); ref != "" && !seen[ref] {
			seen[ref] = true
			todo = append(todo, d.target(ref))
		}
		todo = append(todo, part.schemas("allOf")...)
	}
	return parts
}

// types returns the types that a schema allows, wherever it says that.
func (d *openAPIDocument) types(s openAPISchema) []string {
	for _, part := range d.parts(s) {
		if types := part.types(); len(types) > 0 {
			return types
		}
	}
	return nil
}

// description returns that of a field, or that of what it refers to.
func (d *openAPIDocument) description(s openAPISchema) string {
	for _, part := range d.parts(s) {
		if text := part.text("description"); text != "" {
			return text
		}
	}
	return ""
}

// fields returns the properties of an object.
func (d *openAPIDocument) fields(s openAPISchema) map[string]openAPISchema {
	fields := map[string]openAPISchema{}
	for _, part := range d.parts(s) {
		maps.Copy(fields, part.properties())
	}
	return fields
}

// walk visits a schema and all that are in it, those that are referred to once. It goes no deeper where
// visit returns false.
func (d *openAPIDocument) walk(path string, s openAPISchema, visit func(path string, s openAPISchema) bool) {
	w := schemaWalk{document: d, visit: visit, seen: map[string]bool{}}
	w.walk(path, s)
}

type schemaWalk struct {
	document *openAPIDocument
	visit    func(path string, s openAPISchema) bool
	seen     map[string]bool
}

func (w *schemaWalk) walk(path string, s openAPISchema) {
	if s == nil || !w.visit(path, s) {
		return
	}
	if ref := s.text("$ref"); ref != "" && !w.seen[ref] {
		w.seen[ref] = true
		w.walk(path, w.document.target(ref))
	}
	properties := s.properties()
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		w.walk(path+"."+name, properties[name])
	}
	w.walk(path+"[]", s.schema("items"))
	w.walk(path+"{}", s.schema("additionalProperties"))
	for _, keyword := range []string{"allOf", "oneOf", "anyOf"} {
		for _, part := range s.schemas(keyword) {
			w.walk(path, part)
		}
	}
}

// openAPISchema is a schema as it is written. Malformed parts count as missing.
type openAPISchema map[string]any

// readSchema returns nil if it is none.
func readSchema(raw json.RawMessage) openAPISchema {
	var content openAPISchema
	if json.Unmarshal(raw, &content) != nil {
		return nil
	}
	return content
}

func (s openAPISchema) text(name string) string {
	text, _ := s[name].(string)
	return text
}

func (s openAPISchema) list(name string) []any {
	list, _ := s[name].([]any)
	return list
}

func (s openAPISchema) schema(name string) openAPISchema {
	value, _ := s[name].(map[string]any)
	return value
}

func (s openAPISchema) schemas(name string) []openAPISchema {
	var schemas []openAPISchema
	for _, one := range s.list(name) {
		if value, ok := one.(map[string]any); ok {
			schemas = append(schemas, value)
		}
	}
	return schemas
}

func (s openAPISchema) properties() map[string]openAPISchema {
	properties := map[string]openAPISchema{}
	for name, one := range s.schema("properties") {
		if value, ok := one.(map[string]any); ok {
			properties[name] = value
		}
	}
	return properties
}

// types is a list since version 3.1.
func (s openAPISchema) types() []string {
	var types []string
	for _, one := range append(s.list("type"), s["type"]) {
		if name, ok := one.(string); ok {
			types = append(types, name)
		}
	}
	return types
}

func (s openAPISchema) kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, one := range s.schemas("x-kubernetes-group-version-kind") {
		kinds = append(kinds, one.kind())
	}
	return kinds
}

// kind reads one value of x-kubernetes-group-version-kind.
func (s openAPISchema) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.text("group"), Version: s.text("version"), Kind: s.text("kind")}
}
