// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

// namespaces are those that are known, by name. It implements [policy.Namespaces].
type namespaces map[string]*corev1.Namespace

// add takes a namespace, with the label that the API server would add.
func (n namespaces) add(object *unstructured.Unstructured) error {
	namespace, err := policy.NamespaceOf(object)
	if err != nil {
		return err
	}
	namespace.Labels = policy.NamespaceLabels(namespace.Name, namespace.Labels)
	n[namespace.Name] = namespace
	return nil
}

func (n namespaces) Labels(name string) map[string]string {
	if found, ok := n[name]; ok {
		return found.Labels
	}
	return policy.NamespaceLabels(name, nil)
}

func (n namespaces) Object(name string) (*corev1.Namespace, error) { return n[name], nil }
