// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestShaped(t *testing.T) {
	t.Parallel()
	const spec = `{type: object, required: [a, z], properties: {a: {type: string, minLength: 1}, z: {type: array, items: {type: object, required: [k, v], properties: {k: {type: string, enum: [x, y]}, v: {type: string}, tags: {type: array, items: {type: string}}}}}}}`
	for _, test := range []struct {
		name, spec  string
		shape       Shape
		want, field string
	}{
		{"empty text", spec, EmptyText, `{"a":"conformance","z":[{"k":"x","v":""}]}`, "spec.z[0].v"},
		{"no text may be empty", `{type: object, required: [a, b, c], properties: {a: {type: string, pattern: x}, b: {type: string, format: date-time}, c: {type: string, enum: [x]}, d: {type: string}}}`, EmptyText, "", ""},
		{"defaults of Go", `{type: object, required: [a], properties: {a: {type: string, default: ""}}}`, EmptyText, `{"a":""}`, "spec.a"},
		{"text with rules", `{type: object, required: [a], x-kubernetes-validations: [{rule: "self.a != ''"}], properties: {a: {type: string}}}`, EmptyText, "", ""},
		{"whole number", `{type: object, properties: {a: {type: integer}}}`, WholeNumber, `{"a":1.0}`, "spec.a"},
		{"whole number of replicas", `{type: object, properties: {replicas: {type: integer}}}`, WholeNumber, "", ""},
		{"number out of bounds", `{type: object, properties: {a: {type: integer, minimum: 5}, b: {type: number}, c: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}}}`, WholeNumber, "", ""},
		{"null in a list", spec, NullItem, `{"a":"conformance","z":[{"k":"x","tags":[null],"v":"conformance"}]}`, "spec.z[0].tags"},
		{"null may be in the list", `{type: object, properties: {a: {type: array, items: {type: string, nullable: true}}, b: {type: array, nullable: true, items: {type: string}}}}`, NullItem, "", ""},
		{"wrong type", spec, WrongType, `{"a":1,"z":[]}`, "spec.a"},
		{"no string", `{type: object, properties: {a: {type: integer}, b: {type: object, additionalProperties: {type: string}}}}`, WrongType, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			object, field := NewMaker(things, schemasOf(t, "spec: "+test.spec), nil).Shaped(test.shape)
			if field != test.field {
				t.Errorf("field %q, want %q", field, test.field)
			}
			if test.want == "" {
				if object != nil {
					t.Errorf("an object was made: %v", object.Object)
				}
				return
			}
			if object == nil {
				t.Fatal("no object was made")
			}
			got := testkit.Must(json.Marshal(object.Object["spec"]))(t)
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
