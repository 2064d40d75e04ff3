// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferences(t *testing.T) {
	const more = `
IntOrString: {format: int-or-string, oneOf: [{type: integer}, {type: string}]}
Quantity: {oneOf: [{type: string}, {type: number}]}
Anything: {description: Any value of JSON.}
`
	for _, test := range []struct {
		name, spec, object string
		want               []string
	}{
		{"scalars", `{type: object, properties: {a: {type: string}, b: {type: integer}, c: {type: number}, d: {type: boolean}}}`, `{spec: {a: x, b: 1, c: 1.5, d: true}}`, nil},
		{"an integer is a number", `{type: object, properties: {c: {type: number}}}`, `{spec: {c: 1}}`, nil},
		{"a number without fraction is an integer", `{type: object, properties: {b: {type: integer}}}`, `{spec: {b: 1.0}}`, nil},
		{
			"wrong scalars", `{type: object, properties: {a: {type: string}, b: {type: integer}, c: {type: number}, d: {type: boolean}}}`, `{spec: {a: 1, b: 1.5, c: "1", d: {}}}`,
			[]string{"spec.a: is an integer, not a string", "spec.b: is a number, not an integer", "spec.c: is a string, not a number", "spec.d: is an object, not a boolean"},
		},
		{"an array for an object", `{type: object}`, `{spec: []}`, []string{"spec: is an array, not an object"}},
		{"unknown fields", `{type: object, properties: {a: {type: string}}}`, `{spec: {a: x, e: 1, f: null}, data: {}}`, []string{
			"data: the schema does not have this field", "spec.e: the schema does not have this field", "spec.f: the schema does not have this field",
		}},
		{"items", `{type: array, items: {type: object, properties: {a: {type: string}}}}`, `{spec: [{a: x}, {a: 1}, {b: 1}, word, null]}`, []string{
			"spec[1].a: is an integer, not a string", "spec[2].b: the schema does not have this field", "spec[3]: is a string, not an object",
		}},
		{"maps", `{type: object, additionalProperties: {type: integer}}`, `{spec: {a: 1, b: x}}`, []string{"spec.b: is a string, not an integer"}},
		{"closed objects", `{type: object, additionalProperties: false}`, `{spec: {a: 1}}`, []string{"spec.a: the schema does not have this field"}},
		{"open objects", `{type: object, additionalProperties: true}`, `{spec: {a: 1}}`, nil},
		{"objects without fields", `{type: object}`, `{spec: {a: 1}}`, nil},
		{
			"unknown fields that are kept", `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}`, `{spec: {a: 1, b: {c: d}}}`,
			[]string{"spec.a: is an integer, not a string"},
		},
		{"null", `{type: object, required: [a], properties: {a: {type: string}, b: {type: array, items: {type: string}}}}`, `{spec: {a: null, b: [null]}, metadata: {creationTimestamp: null}}`, nil},
		{"int-or-string", `{type: object, properties: {a: {$ref: "#/components/schemas/IntOrString"}, b: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}}}`, `{spec: {a: 1, b: x}}`, nil},
		{
			"no int-or-string", `{type: object, properties: {a: {$ref: "#/components/schemas/IntOrString"}, b: {x-kubernetes-int-or-string: true}, c: {type: string, format: int-or-string}}}`, `{spec: {a: 1.5, b: [], c: 1}}`,
			[]string{"spec.a: is a number, not an integer or a string", "spec.b: is an array, not an integer or a string"},
		},
		{
			"quantities", `{type: object, additionalProperties: {default: {}, allOf: [{$ref: "#/components/schemas/Quantity"}]}}`, `{spec: {cpu: 1, memory: 1Gi, more: true}}`,
			[]string{"spec.more: is a boolean, not a string or a number"},
		},
		{"any value", `{type: array, items: {$ref: "#/components/schemas/Anything"}}`, `{spec: [1, x, {a: b}, [1], true]}`, nil},
		{"several types", `{type: [string, "null", integer]}`, `{spec: 1}`, nil},
		{"fields of branches", `{type: object, properties: {a: {type: string}}, oneOf: [{properties: {b: {type: string}}}, {allOf: [{properties: {c: {type: string}}}]}]}`, `{spec: {a: x, b: x, c: 1, d: x}}`, []string{
			"spec.c: is an integer, not a string", "spec.d: the schema does not have this field",
		}},
		{"fields of several parts", `{allOf: [{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}, {properties: {a: {required: [b], properties: {b: {minLength: 1}}}}}]}`, `{spec: {a: {b: 1, c: 1}}}`, []string{
			"spec.a.b: is an integer, not a string", "spec.a.c: the schema does not have this field",
		}},
		{"embedded resources", `{type: object, x-kubernetes-embedded-resource: true, properties: {a: {type: string}}}`, `{spec: {apiVersion: v1, kind: 1, metadata: {name: x, colour: red}, b: 1}}`, []string{
			"spec.b: the schema does not have this field", "spec.kind: is an integer, not a string", "spec.metadata.colour: the schema does not have this field",
		}},
		{"metadata", `{type: object}`, `{metadata: {name: 1, labels: {a: true}, colour: red}}`, []string{
			"metadata.colour: the schema does not have this field", "metadata.labels.a: is a boolean, not a string", "metadata.name: is an integer, not a string",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := schemasOf(t, "spec: "+test.spec, more).Differences(thing(t, test.object))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDifferencesOfUnknownKinds(t *testing.T) {
	object := thing(t, "{}")
	object.SetKind("Other")
	const want = "no schema has example.com/v1 Other in its x-kubernetes-group-version-kind"
	for _, schemas := range []*Schemas{nil, schemasOf(t, "spec: {}")} {
		if got := schemas.Differences(object); len(got) != 1 || got[0] != want {
			t.Errorf("the differences are %q", got)
		}
	}
}

func TestDifferencesAreNotEndless(t *testing.T) {
	var fields []string
	for i := range 1000 {
		fields = append(fields, fmt.Sprintf("f%d: 1", i))
	}
	got := schemasOf(t, "spec: {type: object, properties: {a: {}}}").Differences(thing(t, "{spec: {"+strings.Join(fields, ", ")+"}}"))
	if len(got) != maxDifferences {
		t.Errorf("there are %d differences", len(got))
	}
}
