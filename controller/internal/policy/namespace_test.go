// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const namespaceJSON = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team","uid":"u","resourceVersion":"7","generation":2,
"labels":{"env":"prod"},"annotations":{"owner":"a","kubectl.kubernetes.io/last-applied-configuration":"{}"},
"managedFields":[{"manager":"kubectl","operation":"Update"}]},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`

func namespace(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	testkit.NoError(t, object.UnmarshalJSON([]byte(namespaceJSON)))
	return object
}

// TestNamespaceOf: policies see all of a namespace but what is large and says nothing.
func TestNamespaceOf(t *testing.T) {
	t.Parallel()
	object := namespace(t)
	got := testkit.Must(policy.NamespaceOf(object))(t)
	if got.Name != "team" || got.UID != "u" || got.ResourceVersion != "7" || got.Labels["env"] != "prod" || got.Annotations["owner"] != "a" ||
		len(got.Spec.Finalizers) != 1 || got.Status.Phase != corev1.NamespaceActive {
		t.Errorf("the namespace is %+v", got)
	}
	if got.ManagedFields != nil || len(got.Annotations) != 1 {
		t.Errorf("the namespace has %v and %v", got.ManagedFields, got.Annotations)
	}
	if object.GetManagedFields() == nil || len(object.GetAnnotations()) != 2 {
		t.Error("the object was changed")
	}
}

// TestHashOfNamespace: it changes with what policies can see, and not with noise.
func TestHashOfNamespace(t *testing.T) {
	t.Parallel()
	hash := func(change func(*unstructured.Unstructured)) policy.Content {
		object := namespace(t)
		change(object)
		return testkit.Must(policy.HashOfNamespace(object))(t)
	}
	before := hash(func(*unstructured.Unstructured) {})
	for name, noise := range map[string]func(*unstructured.Unstructured){
		"resource version": func(o *unstructured.Unstructured) { o.SetResourceVersion("8") },
		"generation":       func(o *unstructured.Unstructured) { o.SetGeneration(3) },
		"managed fields":   func(o *unstructured.Unstructured) { o.SetManagedFields(nil) },
		"last applied": func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"owner": "a", policy.LastApplied: "{1}"})
		},
	} {
		if hash(noise) != before {
			t.Errorf("%s: the hash has changed", name)
		}
	}
	for name, change := range map[string]func(*unstructured.Unstructured){
		"label":      func(o *unstructured.Unstructured) { o.SetLabels(nil) },
		"annotation": func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"owner": "b"}) },
		"finalizer":  func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/a"}) },
		"spec":       func(o *unstructured.Unstructured) { delete(o.Object, "spec") },
		"status":     func(o *unstructured.Unstructured) { delete(o.Object, "status") },
	} {
		if hash(change) == before {
			t.Errorf("%s: the hash has not changed", name)
		}
	}
}
