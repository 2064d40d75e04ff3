// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

const (
	// allNamespaces and nowhere stand for all namespaces, and for one that does not exist.
	allNamespaces, nowhere = "*", "nowhere"
)

// namespaceStory looks at all namespaces, and for objects where there are none.
func namespaceStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind)), list().elsewhere(allNamespaces)}
	for range 2 + g.IntN(2) {
		s := pick(g, list().elsewhere(allNamespaces), list().elsewhere(allNamespaces).with("fieldSelector", "metadata.namespace"+pick(g, "=", "!=")+spaceMark),
			list().elsewhere(nowhere), get().elsewhere(nowhere), g.writing(post(g.plain(kind)).elsewhere(nowhere)), post(g.plain(kind)).elsewhere(allNamespaces),
			g.writing(put(g.plain(kind)).elsewhere(nowhere)), patch(typeApply, g.plain(kind)).with("fieldManager", "one").elsewhere(nowhere), remove(nil).elsewhere(nowhere),
			list().elsewhere(allNamespaces).with("fieldSelector", "metadata.name="+nameMark))
		if s.Method == "GET" && g.chance(0.4) {
			s = g.view(s)
		}
		steps = append(steps, s)
	}
	return append(steps, get())
}

// statusStory writes status and the rest by the paths that are for the one and for the other.
func statusStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind))}
	for range 1 + g.IntN(3) {
		body := g.plain(kind)
		if g.chance(0.3) {
			body = g.whole(kind)
		}
		if status := kind.Schema.fields["status"]; status != nil && body.Get("status") == nil {
			g.left, g.tries = pick(g, 10, 40), allTries
			body.Set("status", g.value(status, 1))
		}
		s := pick(g, put(body), put(body), patch(typeMerge, body), patch(typeApply, body).with("fieldManager", pick(g, "one", "two")),
			patch(typeJSONPatch, Array(g.operation(kind))), put(versioned(body, pick(g, versionMark, versionMark, oldMark))))
		if s.Header["Content-Type"] == typeApply && g.chance(0.5) {
			s = s.with("force", "true")
		}
		s = g.writing(s)
		if g.chance(0.75) {
			s = s.at("/status")
		}
		steps = append(steps, s)
		if g.chance(0.3) {
			steps = append(steps, g.view(get().at("/status")))
		}
	}
	return append(steps, get().at("/status"), get(), g.view(get()))
}

// versioned returns a copy of an object with a resource version.
func versioned(body *Value, version string) *Value {
	c := body.Clone()
	if metadata := c.Get("metadata"); metadata != nil && metadata.open == '{' {
		metadata.Set("resourceVersion", String(version))
	}
	return c
}

// scaleStory reads and changes the number of replicas.
func scaleStory(g *generator, kind Kind) []Step {
	steps := []Step{post(g.plain(kind)), get().at("/scale")}
	for range 1 + g.IntN(3) {
		replicas := Literal(pick(g, "0", "1", "3", "3", "7", "2147483647"))
		if g.chance(0.2) {
			replicas = pick(g, Null(), Literal("-1"), String("1"), Literal("1.5"), Literal("2147483648"), Literal("1.0"), Object())
		}
		body := Object("apiVersion", "autoscaling/v1", "kind", "Scale", "metadata", Object("name", nameMark, "namespace", spaceMark), "spec", Object("replicas", replicas))
		if g.chance(0.3) {
			body.Get("metadata").Set("resourceVersion", String(pick(g, versionMark, oldMark, "")))
		}
		if g.chance(0.25) {
			g.oddScale(kind, body)
		}
		change := Object("spec", Object("replicas", replicas))
		s := pick(g, put(body), put(body), patch(typeMerge, change), patch(typeMerge, body),
			patch(typeJSONPatch, Array(Object("op", pick(g, "replace", "add", "remove", "test"), "path", "/spec/replicas", "value", replicas))),
			patch(typeApply, body).with("fieldManager", pick(g, "one", "two"), "force", pick(g, "true", "false")),
			patch(typeStrategic, change), post(body), remove(nil))
		s.Collection = false
		steps = append(steps, g.writing(s).at("/scale"))
		if g.chance(0.3) {
			steps = append(steps, g.writing(pick(g, put(g.plain(kind)), patch(typeApply, g.plain(kind)).with("fieldManager", "one"))))
		}
	}
	return append(steps, get().at("/scale"), g.view(get().at("/scale")), get())
}

// oddScale changes a Scale to what a server may refuse or drop.
func (g *generator) oddScale(kind Kind, body *Value) {
	switch g.IntN(6) {
	case 0:
		body.Remove(pick(g, "apiVersion", "kind", "metadata", "spec"))
	case 1:
		body.Set(pick(g, "unknown", "Spec"), Literal("1"))
	case 2:
		body.Set("status", pick(g, Object("replicas", Literal("5"), "selector", "a=b"), Null(), Literal("1")))
	case 3:
		body.Set("apiVersion", String(pick(g, kind.APIVersion(), "v1", "extensions/v1beta1", "autoscaling/v2")))
	case 4:
		body.Set("kind", String(pick(g, kind.Kind, "scale", "")))
	default:
		g.oddMetadata(body.Get("metadata"))
	}
}

// selectStory lists by the fields that the kind lets select.
func selectStory(g *generator, kind Kind) []Step {
	body := g.plain(kind)
	steps := []Step{post(body)}
	for range 2 + g.IntN(3) {
		selector := g.selector(kind, body)
		if g.chance(0.3) {
			selector += "," + pick(g, "metadata.name="+nameMark, "metadata.name!="+nameMark, "metadata.namespace="+spaceMark, g.selector(kind, body))
		}
		s := list().with("fieldSelector", selector)
		if g.chance(0.3) {
			s = g.view(s)
		}
		if g.chance(0.15) {
			s = s.with("limit", "1")
		}
		steps = append(steps, s)
		if g.chance(0.2) {
			steps = append(steps, g.writing(put(g.plain(kind))))
		}
	}
	if g.chance(0.2) {
		s := list().with("fieldSelector", g.selector(kind, body))
		s.Method = "DELETE"
		steps = append(steps, s, list())
	}
	return steps
}

// selector returns one by a selectable field, often with the value that an object has there.
func (g *generator) selector(kind Kind, body *Value) string {
	field := pick(g, kind.Selectable...)
	value := pick(g, valueAt(body, field), valueAt(body, field), "", "true", "false", "0", "x")
	if g.chance(0.1) {
		field = pick(g, ".spec.nothing", ".status", "metadata.uid", field+".x", ".metadata.name")
	}
	return strings.TrimPrefix(field, ".") + pick(g, "=", "==", "!=") + fields.EscapeValue(value)
}

// valueAt returns the text of the value at a path of fields, "" if there is none.
func valueAt(v *Value, path string) string {
	for _, key := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		if v = v.Get(key); v == nil {
			return ""
		}
	}
	if v.open != 0 {
		return ""
	}
	return strings.Trim(v.literal, `"`)
}

// versionStory writes and reads an object in several versions.
func versionStory(g *generator, kind Kind) []Step {
	steps := []Step{g.writing(post(g.plain(kind)))}
	for range 2 + g.IntN(3) {
		other := pick(g, append(kind.Others, kind)...)
		s := pick(g, get(), list(), g.view(get()), put(g.plain(other)), patch(typeMerge, g.part(other.Schema)), patch(typeJSONPatch, Array(g.operation(other))),
			patch(typeApply, g.plain(other)).with("fieldManager", pick(g, "one", "two"), "force", "true"), put(g.plain(kind)), remove(nil))
		if s.Method != "GET" && s.Method != "DELETE" {
			s = g.writing(s)
		}
		steps = append(steps, s.in(other))
	}
	return append(steps, get(), get().in(pick(g, kind.Others...)))
}
