// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// jsonPatchStory changes an object by JSON patches.
func jsonPatchStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind))}
	for range 1 + g.IntN(2) {
		body := Array()
		for range 1 + g.IntN(3) {
			body.Append(g.operation(kind))
		}
		if g.chance(0.05) {
			body = pick(g, Object(), Null(), Array(), Array(Null()), String("x"))
		}
		steps = append(steps, g.writing(patch(typeJSONPatch, body)))
	}
	return append(steps, get(), g.view(get()))
}

// operation returns one of a JSON patch.
func (g *generator) operation(kind Kind) *Value {
	path, schema := g.pointer(kind.Schema)
	if g.chance(0.2) {
		odd := oddMetadata()
		name := pick(g, sortedKeys(odd)...)
		value := pick(g, odd[name]...)
		if value == "" {
			return Object("op", "remove", "path", "/metadata/"+name)
		}
		return Object("op", pick(g, "add", "replace"), "path", "/metadata/"+name, "value", must(value))
	}
	operation := Object("op", pick(g, "add", "add", "add", "replace", "replace", "remove", "test", "move", "copy"), "path", path)
	switch operation.Get("op").literal {
	case `"move"`, `"copy"`:
		from, _ := g.pointer(kind.Schema)
		operation.Set("from", String(from))
	case `"remove"`:
	default:
		operation.Set("value", g.value(schema, 1))
	}
	if g.chance(g.wild) {
		switch g.IntN(4) {
		case 0:
			operation.Remove(pick(g, "op", "path", "value"))
		case 1:
			operation.Set("op", String("nonsense"))
		case 2:
			operation.Set("path", pick(g, String(""), String("results"), String("/apiVersion"), String("/kind"), String("/metadata/name"), Null(), String("/~2")))
		default:
			operation.Set("unknown", Null())
		}
	}
	return operation
}

// pointer returns the path of some field as JSON patches write it, and the field's schema.
func (g *generator) pointer(schema *apiextensionsv1.JSONSchemaProps) (string, *apiextensionsv1.JSONSchemaProps) {
	path := ""
	for depth := 0; ; depth++ {
		switch {
		case len(schema.Properties) > 0:
			var names []string
			for _, name := range sortedKeys(schema.Properties) {
				if depth > 0 || !isEnvelope(name) {
					names = append(names, name)
				}
			}
			name := pick(g, names...)
			property := schema.Properties[name]
			path, schema = path+"/"+name, &property
		case schema.Items != nil:
			path, schema = path+"/"+pick(g, "0", "0", "-", "1", "9", "-1", "01"), schema.Items.Schema
		case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
			path, schema = path+"/"+pick(g, "a", "b", "app.kubernetes.io~1name", ""), schema.AdditionalProperties.Schema
		default:
			return path, schema
		}
		if g.chance(0.35) {
			return path, schema
		}
	}
}

// mergeStory changes an object by merge patches.
func mergeStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind))}
	for range 1 + g.IntN(2) {
		body := g.object(kind.Schema, 0)
		for i := range body.members {
			if g.chance(0.15) {
				body.members[i].value = Null()
			}
		}
		if g.chance(0.5) {
			body.Set("metadata", Object())
			g.oddMetadata(body.Get("metadata"))
			if g.chance(0.2) {
				body.Get("metadata").Set("resourceVersion", String(pick(g, versionMark, oldMark, "")))
			}
		}
		steps = append(steps, g.writing(patch(typeMerge, body)))
	}
	return append(steps, get(), g.view(get()))
}

// strategicStory tries the patches that custom resources don't have.
func strategicStory(g *generator, kind Kind) []Step {
	return []Step{post(g.plain(kind)), g.writing(patch(typeStrategic, g.object(kind.Schema, 0))), get()}
}

// applyStory has several managers apply.
func applyStory(g *generator, kind Kind) []Step {
	var steps []Step
	if g.chance(0.4) {
		steps = append(steps, g.writing(post(g.plain(kind))))
	}
	for range 1 + g.IntN(4) {
		body := g.whole(kind)
		if g.chance(0.7) {
			body = g.plain(kind)
		}
		s := patch(typeApply, body).with("fieldManager", pick(g, "one", "two", "three", "one", "two"))
		switch g.IntN(6) {
		case 0, 1, 2:
			s = s.with("force", "true")
		case 3:
			s = s.with("force", pick(g, "false", "", "x"))
		}
		switch g.IntN(12) {
		case 0:
			delete(s.Query, "fieldManager")
		case 1:
			s = s.with("dryRun", "All")
		case 2:
			s = s.with("fieldValidation", pick(g, "Strict", "Warn", "Ignore", "x"))
		}
		if metadata := body.Get("metadata"); metadata != nil && metadata.open == '{' && g.chance(0.1) {
			metadata.Set("resourceVersion", String(pick(g, versionMark, oldMark)))
		}
		steps = append(steps, s)
	}
	if g.chance(0.2) {
		steps = append(steps, put(g.whole(kind)).with("fieldManager", "two"))
	}
	return append(steps, get(), g.view(get()))
}

// subresourceStory asks for subresources, which the kinds don't have.
func subresourceStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind))}
	suffix := pick(g, "/status", "/scale", "/nonsense", "/status/x", "/")
	body := g.plain(kind)
	s := pick(g, get(), put(body), patch(typeMerge, Object("status", Object("a", "b"))), patch(typeApply, body).with("fieldManager", "one"), remove(nil), post(body))
	if s.Method == "POST" {
		s.Collection = false // As if it were pods/binding.
	}
	if suffix == "/" && strings.EqualFold(s.Method, "DELETE") {
		suffix = "/status"
	}
	return append(steps, s.at(suffix), get())
}
