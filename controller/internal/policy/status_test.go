// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestMayReadStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{validate: {message: "the object of this request", pattern: {spec: {containers: [{image: "!*:latest"}]}}}}`:                              false,
		`{validate: {pattern: {=(metadata): {=(annotations): {=(a/*): b}}}}}`:                                                                     false,
		`{validate: {pattern: {"*": "?*"}}}`:                                                                                                      true,
		`{validate: {anyPattern: [{spec: {a: b}}, {"s?atus": "?*"}]}}`:                                                                            true,
		`{validate: {pattern: {=(status): {phase: Running}}}}`:                                                                                    true,
		`{validate: {deny: {conditions: {all: [{key: "{{ request.object.spec.volumes[].keys(@)[] || '' }}", operator: AnyNotIn, value: [a]}]}}}}`: false,
		`{validate: {deny: {conditions: {all: [{key: "{{ request.object.status.phase }}"}]}}}}`:                                                   true,
		`{validate: {deny: {conditions: {all: [{key: "{{ request.object.keys(@) }}"}]}}}}`:                                                        true,
		`{validate: {deny: {conditions: {all: [{key: "{{ request.object.* }}"}]}}}}`:                                                              true,
		`{validate: {deny: {conditions: {all: [{key: "{{ request.object }}"}]}}}}`:                                                                true,
		`{validate: {deny: {conditions: {all: [{key: "{{ request.values(@) }}"}]}}}}`:                                                             true,
		`{validate: {deny: {conditions: {all: [{key: "{{ values(request)[] }}"}]}}}}`:                                                             true,
		`{validate: {deny: {conditions: {all: [{key: "{{ @ }}"}]}}}}`:                                                                             true,
		`{validate: {message: "{{ request.object }} is wrong", pattern: {spec: {a: b}}}}`:                                                         true,
		`{validate: {assert: {all: [{check: {spec: {a: b}}}]}}}`:                                                                                  true,
		`{context: [{name: x, apiCall: {method: POST, data: [{key: o, value: "{{ request.object }}"}]}}]}`:                                        true,
		`{match: {any: [{resources: {kinds: [Pod/status]}}]}}`:                                                                                    true,
		`{validations: [{expression: "object.spec.?a.orValue(1) > 0 && has(object.metadata.labels)", message: "object"}]}`:                        false,
		`{validations: [{expression: "object.?status.orValue({}) == {}"}]}`:                                                                       true,
		`{validations: [{expression: "object[variables.field] == 1"}]}`:                                                                           true,
		`{validations: [{expression: "dyn(object) != null"}]}`:                                                                                    true,
		`{validations: [{expression: "namespaceObject.metadata.name == 'a' && oldObject == null"}]}`:                                              false,
	} {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		if err := yaml.Unmarshal([]byte("spec: "+text), &object.Object); err != nil {
			t.Fatal(text, err)
		}
		if got := MayReadStatus(&unstructured.Unstructured{}, object); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
