// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// things is the kind of the tests.
var things = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

const objectMeta = `
    com.example.apis.meta.v1.ObjectMeta:
      type: object
      properties:
        name: {type: string, default: ""}
        labels: {type: object, additionalProperties: {type: string, default: ""}}
        creationTimestamp: {allOf: [{$ref: "#/components/schemas/com.example.apis.meta.v1.Time"}]}
    com.example.apis.meta.v1.Time: {type: string, format: date-time}
`

// document returns an OpenAPI document in which Thing has these properties. More schemas may follow.
func document(t testing.TB, properties string, more ...string) []byte {
	t.Helper()
	text := `
openapi: 3.0.0
components:
  schemas:
    com.example.Thing:
      type: object
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
      properties:
        apiVersion: {type: string}
        kind: {type: string}
        metadata: {default: {}, allOf: [{$ref: "#/components/schemas/com.example.apis.meta.v1.ObjectMeta"}]}
` + indent(properties, 8) + objectMeta + indent(strings.Join(more, "\n"), 4)
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return data
}

func indent(text string, by int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Repeat(" ", by) + strings.Join(lines, "\n"+strings.Repeat(" ", by)) + "\n"
}

func schemasOf(t testing.TB, properties string, more ...string) *Schemas {
	t.Helper()
	return testkit.Must(ReadSchemas(document(t, properties, more...)))(t)
}

// thing returns a Thing with fields.
func thing(t testing.TB, fields string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	testkit.NoError(t, yaml.Unmarshal([]byte(fields), &object.Object))
	if object.Object == nil {
		object.Object = map[string]any{}
	}
	object.SetGroupVersionKind(things)
	return object
}

// fieldsOf returns an object as YAML, without what all Things have.
func fieldsOf(t testing.TB, object *unstructured.Unstructured) string {
	t.Helper()
	fields := object.DeepCopy().Object
	delete(fields, "apiVersion")
	delete(fields, "kind")
	data := testkit.Must(yaml.Marshal(fields))(t)
	return string(data)
}

func TestReadSchemasOfBadDocuments(t *testing.T) {
	for document, want := range map[string]string{
		``:                                      "no JSON object",
		`[]`:                                    "no JSON object",
		`{}`:                                    "has no components",
		`{"components":{}}`:                     "has no components.schemas",
		`{"components":{"schemas":[]}}`:         "has no components.schemas",
		`{"components":{"schemas":{"A":1}}}`:    "components.schemas.A: expected a schema, found an integer",
		`{"components":{"schemas":{"A":null}}}`: "components.schemas.A: expected a schema, found null",
		`{"components":{"schemas":{"A":{"properties":{"b":{"items":{"type":7}}}}}}}`:      "components.schemas.A.properties.b.items.type: expected a string, found an integer",
		`{"components":{"schemas":{"A":{"required":true}}}}`:                              "components.schemas.A.required: expected a list, found a boolean",
		`{"components":{"schemas":{"A":{"required":[1]}}}}`:                               "components.schemas.A.required: expected a list of strings",
		`{"components":{"schemas":{"A":{"allOf":[{},{"minimum":"1"}]}}}}`:                 "components.schemas.A.allOf[1].minimum: expected a number, found a string",
		`{"components":{"schemas":{"A":{"properties":[]}}}}`:                              "components.schemas.A.properties: expected schemas by name, found an array",
		`{"components":{"schemas":{"A":{"additionalProperties":{"type":["string",1]}}}}}`: "components.schemas.A.additionalProperties.type: expected a list of strings",
	} {
		if _, err := ReadSchemas([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, not %q", document, err, want)
		}
	}
}

func TestReferences(t *testing.T) {
	schemas := schemasOf(t, `
spec: {$ref: "#/components/schemas/a~1b%20c~0"}
elsewhere: {$ref: "https://example.com/schema.json"}
nowhere: {$ref: "#/components/schemas/nothing"}
loop: {$ref: "#/components/schemas/Loop"}
`, `
a/b c~: {type: object, properties: {color: {type: string}}}
Loop: {allOf: [{$ref: "#/components/schemas/Loop"}], anyOf: [{$ref: "#/components/schemas/Loop"}], oneOf: [{$ref: "#/components/schemas/Loop"}]}
`)
	got := schemas.Differences(thing(t, "{spec: {colour: red}, elsewhere: 1, nowhere: {a: b}, loop: [{}]}"))
	if diff := cmp.Diff([]string{"spec.colour: the schema does not have this field"}, got); diff != "" {
		t.Error(diff)
	}
	if names := schemas.view(true, schemas.kind(things)).names(); len(names) != 7 {
		t.Errorf("the properties are %q", names)
	}
}

// FuzzReadSchemas also does with the schemas all that is done with them.
func FuzzReadSchemas(f *testing.F) {
	f.Add(document(f, "spec: {type: object, required: [a, b], properties: {a: {type: string, pattern: '^x{3}$'}, b: {type: integer, minimum: 3}}}"), []byte(`{"spec":{"a":"b"}}`))
	f.Add(document(f, "spec: {$ref: '#/components/schemas/Loop'}", "Loop: {type: object, required: [a, b], properties: {a: {$ref: '#/components/schemas/Loop'}, b: {$ref: '#/components/schemas/Loop'}}}"), []byte(`{"spec":{"a":{}}}`))
	f.Add(document(f, "status: {type: object, properties: {conditions: {type: array, items: {oneOf: [{type: integer}, {type: string}]}}}}"), []byte(`{"status":{"conditions":[1,"2",null]}}`))
	f.Add(document(f, "spec: {type: object, x-kubernetes-embedded-resource: true, additionalProperties: {type: number, multipleOf: 0.1, exclusiveMinimum: true, minimum: 0, maximum: 1}}"), []byte(`{"spec":{"metadata":1,"x":0.5}}`))
	f.Add(document(f, "spec: {type: array, minItems: 5, maxItems: 2, uniqueItems: true, items: {enum: [null, 1, {}]}}"), []byte(`{"spec":[[]]}`))
	f.Fuzz(func(t *testing.T, document, content []byte) {
		schemas, err := ReadSchemas(document)
		if err != nil {
			return
		}
		kinds := []schema.GroupVersionKind{things}
		for kind := range schemas.byKind {
			kinds = append(kinds, kind)
		}
		for _, kind := range kinds[:min(len(kinds), 5)] {
			object := &unstructured.Unstructured{}
			if json.Unmarshal(content, &object.Object) != nil || object.Object == nil {
				object.Object = map[string]any{}
			}
			object.SetGroupVersionKind(kind)
			schemas.Differences(object)
			maker := NewMaker(kind, schemas, nil)
			for _, one := range []*unstructured.Unstructured{object, maker.New()} {
				for _, changed := range append(maker.ContentChanges(one), maker.StatusChanges(one)...) {
					if _, err := json.Marshal(changed.Object); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
}
