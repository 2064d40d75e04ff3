// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// NamespaceOf returns a namespace as policies see it: without managed fields and the last applied
// configuration. It doesn't change object.
func NamespaceOf(object *unstructured.Unstructured) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, namespace); err != nil {
		return nil, fmt.Errorf("read the namespace %s: %w", object.GetName(), err)
	}
	namespace.ManagedFields = nil
	if _, ok := namespace.Annotations[LastApplied]; ok {
		namespace.Annotations = maps.Clone(namespace.Annotations)
		delete(namespace.Annotations, LastApplied)
	}
	return namespace, nil
}

// NamespaceNamed returns a namespace if it is known, or else what its labels make of it; nil if there is no name.
func NamespaceNamed(name string, known *corev1.Namespace, labels map[string]string) *corev1.Namespace {
	if name == "" {
		return nil
	}
	if known != nil && known.Name == name {
		return known
	}
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
	}
}

// Namespace returns the namespace of the subject, perhaps with its labels only; nil if the subject has none.
func (s Subject) Namespace() *corev1.Namespace {
	return NamespaceNamed(s.Object.GetNamespace(), s.NamespaceObject, s.NamespaceLabels)
}

// NamespaceLabels returns the labels that a namespace has in a cluster: the API server adds its name.
func NamespaceLabels(name string, labels map[string]string) map[string]string {
	all := make(map[string]string, len(labels)+1)
	maps.Copy(all, labels)
	if _, ok := all[corev1.LabelMetadataName]; !ok {
		all[corev1.LabelMetadataName] = name
	}
	return all
}

// HashOfNamespace returns the hash of what policies can see of a namespace, except for resourceVersion and
// generation, which change with everything else, and with what policies can't see.
func HashOfNamespace(object *unstructured.Unstructured) (Content, error) {
	content := maps.Clone(object.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, noise := range []string{"managedFields", "resourceVersion", "generation", "selfLink"} {
			delete(metadata, noise)
		}
		annotations := object.GetAnnotations()
		delete(annotations, LastApplied) // A copy.
		delete(metadata, "annotations")
		if len(annotations) > 0 {
			metadata["annotations"] = annotations
		}
		content["metadata"] = metadata
	}
	return HashOf(content)
}
