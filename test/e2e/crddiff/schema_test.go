// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// ownKinds are the kinds of the definitions in testdata.
func ownKinds(t *testing.T) []Kind {
	t.Helper()
	var kinds []Kind
	for _, definition := range testkit.Must(ReadDefinitions(nil, "testdata"))(t) {
		kinds = append(kinds, testkit.Must(KindsOf(definition))(t)...)
	}
	return kinds
}

// workload is the kind of testdata that has subresources and selectable fields.
func workload(t *testing.T) Kind {
	t.Helper()
	kinds := ownKinds(t)
	return kinds[slices.IndexFunc(kinds, func(kind Kind) bool { return kind.Kind == "Workload" })]
}

// acceptedByName reports whether an object is valid once it has a name.
func acceptedByName(kind Kind, v *Value) bool {
	return kind.Schema.accepts(Literal(strings.ReplaceAll(v.Text(), nameMark, "any")))
}

// TestPlainObjects: they are valid, whatever the schema demands, and all fields come up in them.
func TestPlainObjects(t *testing.T) {
	t.Parallel()
	for _, kind := range ownKinds(t) {
		seen, refused, strange := map[string]bool{}, 0, 0
		for number := range uint64(200) {
			g := newGenerator(1, number)
			v := g.plain(kind)
			if !acceptedByName(kind, v) {
				refused++
			}
			if spec := v.Get("spec"); spec != nil {
				for _, m := range spec.members {
					seen[strings.Trim(m.key, `"`)] = true
				}
			}
			g.wild = 0.1
			if !acceptedByName(kind, g.whole(kind)) {
				strange++
			}
		}
		if refused > 0 {
			t.Errorf("%s %s: %d of 200 are invalid", kind.APIVersion(), kind.Kind, refused)
		}
		if kind.Schema.fields["spec"] == nil {
			continue // There is nothing to be invalid.
		}
		if strange < 20 || strange > 180 {
			t.Errorf("%s %s: %d of 200 are invalid that may be", kind.APIVersion(), kind.Kind, strange)
		}
		for name := range kind.Schema.fields["spec"].fields {
			if !seen[name] {
				t.Errorf("%s %s: no valid object has spec.%s", kind.APIVersion(), kind.Kind, name)
			}
		}
	}
}

// TestKeywords: what a schema with a keyword is tried with is valid, and breaks the keyword if it is to.
func TestKeywords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{type: string, maxLength: 3}`, `{type: string, minLength: 3}`, `{type: string, pattern: "^[a-c]{2,3}x?$"}`, `{type: string, enum: [a, b]}`, `{type: integer, enum: [1, 2]}`,
		`{type: integer, minimum: 3}`, `{type: integer, maximum: -3}`, `{type: integer, minimum: 3, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: true}`, `{type: number, multipleOf: 3}`,
		`{type: array, maxItems: 2, items: {type: string}}`, `{type: array, minItems: 2, items: {type: string}}`, `{type: array, x-kubernetes-list-type: set, items: {type: string}}`,
		`{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}, v: {type: string}}}}`,
		`{type: object, required: [a], properties: {a: {type: string}}}`, `{type: object, minProperties: 2, maxProperties: 2, additionalProperties: {type: string}}`,
		`{type: string, format: date-time}`, `{type: string, format: cidr}`, `{type: string, format: byte}`, `{x-kubernetes-int-or-string: true}`,
		`{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: "^[0-9]+%$"}`,
		`{type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}`, `{type: object, not: {required: [a]}, anyOf: [{required: [b]}], properties: {a: {type: string}, b: {type: string}}}`,
		`{type: object, oneOf: [{properties: {t: {enum: [ip]}, v: {format: ipv4}}}, {properties: {t: {not: {enum: [ip]}}}}], required: [t, v], properties: {t: {type: string, enum: [ip, name]}, v: {type: string}}}`,
		`{type: string, allOf: [{minLength: 2}, {maxLength: 3}]}`, `{type: object, properties: {a: {type: integer, minimum: 0, maximum: 9}, b: {type: integer}}, required: [a, b], x-kubernetes-validations: [{rule: "self.a != self.b"}]}`,
	} {
		var props apiextensionsv1.JSONSchemaProps
		testkit.NoError(t, yaml.Unmarshal([]byte(text), &props))
		s, broken := newSchema(&props), 0
		for number := range uint64(100) {
			g := newGenerator(2, number)
			g.wild, g.left, g.tries = 0, 50, allTries
			if v := g.value(s, 1); !s.accepts(v) {
				t.Errorf("%s: %s is invalid", text, v.Text())
			}
			if v := g.violation(s, 1); v.Text() != "null" && !s.accepts(v) {
				broken++
			}
		}
		if broken < 10 {
			t.Errorf("%s: %d of 100 values break it", text, broken)
		}
	}
}

// TestStoriesOfFeatures: kinds are asked for what they have beyond the rest.
func TestStoriesOfFeatures(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, kind := range ownKinds(t) {
		for number := range uint64(200) {
			f := Finding{Case: NewCase(kind, 7, number)}
			f.Step = len(f.Case.Steps) - 1
			all.WriteString(f.String())
		}
	}
	const group = "/apis/crddiff.example.com/"
	for _, want := range []string{
		"PUT " + group + "v1/namespaces/@space@/workloads/@name@/status", "PATCH " + group + "v1/namespaces/@space@/workloads/@name@/status", "GET " + group + "v1/namespaces/@space@/workloads/@name@/scale",
		"PUT " + group + "v1/namespaces/@space@/workloads/@name@/scale", "fieldSelector=spec.color", "fieldSelector=spec.paused", "fieldSelector=status.phase",
		"GET " + group + "v1beta1/namespaces/@space@/gauges/@name@", "PUT " + group + "v2/namespaces/@space@/gauges/@name@", "PUT /apis/free.crddiff.example.com/v1alpha1/notes/@name@/status",
		"DELETE " + group + "v1/boxes?", "GET " + group + "v1/workloads?", "POST " + group + "v1/namespaces/nowhere/workloads", strings.Repeat(`{\"a\":`, 3), strings.Repeat("[", 8), `\"kind\":\"Gadget\",\"metadata\":{\"name\":\"embedded\"`,
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no case has %s", want)
		}
	}
}
