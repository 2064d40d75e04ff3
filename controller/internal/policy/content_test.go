// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestEncode: the JSON has the whole object, and the hash is of what counts, as replicas of other versions compute it.
func TestEncode(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a pod":               `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"l":"<1>"},"annotations":{"x":"y"}},"spec":{"nodeName":"n","containers":[{"name":"c"}]},"status":{"phase":"Running"}}`,
		"nothing but it":      `{"kind":"Pod","metadata":{"name":"a"},"spec":{"nodeName":"n"}}`,
		"no node":             `{"kind":"Pod","metadata":{"name":"a"},"spec":{"x":1.5,"y":9007199254740993}}`,
		"an empty spec":       `{"kind":"Pod","metadata":{"name":"a"},"spec":{}}`,
		"no spec":             `{"data":{"nodeName":"n"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"a"}}`,
		"a text as spec":      `{"kind":"Own","metadata":{"name":"a"},"spec":"nodeName"}`,
		"metadata only":       `{"metadata":{"name":"a"}}`,
		"a node that is null": `{"kind":"Pod","metadata":{},"spec":{"nodeName":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{}
			testkit.NoError(t, json.Unmarshal([]byte(text), &object.Object))
			content, data, err := policy.Encode(object)
			testkit.NoError(t, err)
			var got map[string]any
			testkit.NoError(t, json.Unmarshal(data, &got))
			if !reflect.DeepEqual(got, object.Object) {
				t.Errorf("the JSON is %s", data)
			}
			want := testkit.Must(policy.HashOf(counting(object)))(t)
			if alone := testkit.Must(policy.ContentOf(object))(t); content != want || alone != want {
				t.Errorf("the hash is %s, alone %s, want %s", content, alone, want)
			}
		})
	}
}

// counting returns what counts as the content of an object.
func counting(object *unstructured.Unstructured) any {
	content := maps.Clone(object.Object)
	delete(content, "metadata")
	delete(content, "status")
	if spec, ok := content["spec"].(map[string]any); ok {
		spec = maps.Clone(spec)
		delete(spec, "nodeName")
		content["spec"] = spec
	}
	annotations := object.GetAnnotations()
	if len(annotations) == 0 {
		annotations = nil
	}
	return []any{object.GetLabels(), annotations, content}
}
