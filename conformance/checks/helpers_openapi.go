// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/runner"
)

// noSchemas is why checks of schemas are left out.
const noSchemas = "the server publishes no OpenAPI v3 schemas of these kinds, which another check reports"

// kindExtension is where schemas and operations have the kinds that they are about.
const kindExtension = "x-kubernetes-group-version-kind"

// openAPIDocument is that of version 3 of a group version.
type openAPIDocument struct {
	*runner.Response

	schemas, paths openAPISchema
}

// readOpenAPI returns the document of the group version; nil if there is none that can be read.
func readOpenAPI(p *runner.Probe) *openAPIDocument {
	response := p.Send(runner.Get("/openapi/v3" + runner.GroupVersionPath(p.GroupVersion)))
	content := openAPISchema(response.Fields())
	if !response.OK() || content == nil {
		return nil // Checks that need it say so.
	}
	return &openAPIDocument{response, content.schema("components").schema("schemas"), content.schema("paths")}
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

// kind returns the schema of a kind; nil if there is none.
func (d *openAPIDocument) kind(kind schema.GroupVersionKind) openAPISchema {
	if d == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.schemas)) {
		if s := d.schemas.schema(name); slices.Contains(s.kinds(), kind) {
			return s
		}
	}
	return nil
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
	return d.schemas.schema(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
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
	seen := map[string]bool{}
	var walk func(path string, s openAPISchema)
	walk = func(path string, s openAPISchema) {
		if s == nil || !visit(path, s) {
			return
		}
		if ref := s.text("$ref"); ref != "" && !seen[ref] {
			seen[ref] = true
			walk(path, d.target(ref))
		}
		properties := s.properties()
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			walk(path+"."+name, properties[name])
		}
		walk(path+"[]", s.schema("items"))
		walk(path+"{}", s.schema("additionalProperties"))
		for _, keyword := range []string{"allOf", "oneOf", "anyOf"} {
			for _, part := range s.schemas(keyword) {
				walk(path, part)
			}
		}
	}
	walk(path, s)
}

// openAPISchema is a schema as it is written. Malformed parts count as missing.
type openAPISchema map[string]any

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
	for name := range s.schema("properties") {
		if value := s.schema("properties").schema(name); value != nil {
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
	for _, one := range s.schemas(kindExtension) {
		kinds = append(kinds, one.kind())
	}
	return kinds
}

// kind reads one value of [kindExtension].
func (s openAPISchema) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.text("group"), Version: s.text("version"), Kind: s.text("kind")}
}
