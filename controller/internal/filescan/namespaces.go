// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

// metadataName is the label that every namespace has in a cluster.
const metadataName = "kubernetes.io/metadata.name"

// namespaces are those that are known, by name.
type namespaces map[string]*corev1.Namespace

// add takes a namespace, with the label that the API server would add.
func (n namespaces) add(object *unstructured.Unstructured) error {
	namespace, err := policy.NamespaceOf(object)
	if err != nil {
		return err
	}
	namespace.Labels = withName(namespace.Name, namespace.Labels)
	n[namespace.Name] = namespace
	return nil
}

// labelsFor returns the labels of the namespace that policies see for an object.
func (n namespaces) labelsFor(object *unstructured.Unstructured) map[string]string {
	name := object.GetNamespace()
	if name == "" && object.GroupVersionKind().Group == "" && object.GetKind() == "Namespace" {
		name = object.GetName()
	}
	if name == "" {
		return nil
	}
	if found, ok := n[name]; ok {
		return found.Labels
	}
	return withName(name, nil)
}

// withName returns the labels with the one that the API server would add.
func withName(name string, labels map[string]string) map[string]string {
	all := map[string]string{metadataName: name}
	for key, value := range labels {
		all[key] = value
	}
	return all
}
