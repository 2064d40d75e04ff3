// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/policy"
)

// packed is a resource as it is kept. It has the JSON, since Go maps of the same content take four times the
// memory, and unpacking takes little time compared with an evaluation. It never changes.
type packed struct {
	namespace, name string
	uid             types.UID
	// data is the JSON; nil in a kind without data.
	data []byte
	// content is the hash of everything whose change counts as a change of the resource.
	content policy.Content
	// status is the hash of the status, which counts if a policy has the status as its target.
	status policy.Content
	// space is set for namespaces only.
	space *space
}

// space is what policies for other resources see of a namespace.
type space struct {
	labels map[string]string
	// visible is the hash of what policies can see of it.
	visible policy.Content
}

// GetObjectMeta lets client-go's reflector read the name.
func (p *packed) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, UID: p.uid}
}

// pack keeps what policies can see of an object; without its data if it is never evaluated. It changes
// object.
func pack(object *unstructured.Unstructured, withData bool) (*packed, error) {
	policy.Strip(object)
	var data []byte
	if withData {
		var err error
		if data, err = json.Marshal(object.Object); err != nil {
			return nil, fmt.Errorf("pack %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
	}
	content, err := policy.ContentOf(object)
	if err != nil {
		return nil, err
	}
	status, err := policy.HashOf(object.Object["status"])
	if err != nil {
		return nil, err
	}
	return &packed{
		namespace: object.GetNamespace(), name: object.GetName(), uid: object.GetUID(),
		data: data, content: content, status: status,
	}, nil
}

// unpack returns an object of the caller's own.
func (p *packed) unpack() (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(p.data); err != nil {
		return nil, fmt.Errorf("unpack %s/%s: %w", p.namespace, p.name, err)
	}
	return object, nil
}
