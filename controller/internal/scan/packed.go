// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// lastApplied is as large as the object and says nothing about it.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// hash is enough of a SHA-256 to tell contents apart, also those that somebody chose.
type hash [16]byte

// packed is a resource as it is kept: its JSON, because the same as Go maps takes four times the
// memory, and unpacking it costs little beside evaluating it. It never changes.
type packed struct {
	namespace, name string
	uid             types.UID
	data            []byte
	// content is the hash of what a change has to change to matter: as in Kyverno, labels,
	// annotations, and all that is not metadata, status, or the node of a pod.
	content hash
	// status is the hash of the status, for kinds whose status policies target.
	status hash
	// labels are kept of namespaces only.
	labels map[string]string
}

// GetObjectMeta has client-go find the name.
func (p *packed) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, UID: p.uid}
}

// pack keeps what policies can see of an object: all but managed fields and the last applied
// configuration. It changes object.
func pack(object *unstructured.Unstructured) (*packed, error) {
	object.SetManagedFields(nil)
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", lastApplied)
	if len(object.GetAnnotations()) == 0 {
		object.SetAnnotations(nil) // Equal whether it was there or not.
	}
	data, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("pack %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	content, err := hashOf(contentOf(object))
	if err != nil {
		return nil, err
	}
	status, err := hashOf(object.Object["status"])
	if err != nil {
		return nil, err
	}
	return &packed{
		namespace: object.GetNamespace(), name: object.GetName(), uid: object.GetUID(),
		data: data, content: content, status: status,
	}, nil
}

// contentOf shares values with object.
func contentOf(object *unstructured.Unstructured) []any {
	content := maps.Clone(object.Object)
	delete(content, "metadata")
	delete(content, "status")
	if spec, ok := content["spec"].(map[string]any); ok {
		if _, ok := spec["nodeName"]; ok {
			spec = maps.Clone(spec)
			delete(spec, "nodeName")
			content["spec"] = spec
		}
	}
	return []any{object.GetLabels(), object.GetAnnotations(), content}
}

func hashOf(value any) (hash, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return hash{}, fmt.Errorf("hash of a resource: %w", err)
	}
	sum := sha256.Sum256(data)
	return hash(sum[:len(hash{})]), nil
}

// unpack returns an object of the caller's own.
func (p *packed) unpack() (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(p.data); err != nil {
		return nil, fmt.Errorf("unpack %s/%s: %w", p.namespace, p.name, err)
	}
	return object, nil
}
