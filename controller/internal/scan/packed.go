// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"encoding/json"
	"fmt"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/policy"
)

// packed is a resource as it is kept. It has the JSON, since Go maps of the same content take four times the
// memory, and unpacking takes little time compared with an evaluation; most of it is compressed. It never changes.
type packed struct {
	namespace, name string
	uid             types.UID
	// data is the JSON as codec packs it, or as it is if codec is nil; nil in a kind without data.
	data  []byte
	codec *codec
	// dropped is true if there is no memory for data: they are requested for each evaluation.
	dropped bool
	// content is the hash of everything whose change counts as a change of the resource.
	content policy.Content
	// status is the hash of the status, which counts if a policy has the status as its target; zero if the
	// status is not kept.
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

// pack keeps of an object what detail says. It changes object.
func pack(object *unstructured.Unstructured, d detail, codecs *codecOf) (*packed, error) {
	policy.Strip(object)
	content, err := policy.ContentOf(object)
	if err != nil {
		return nil, err
	}
	p := &packed{
		namespace: unique.Make(object.GetNamespace()).Value(), name: object.GetName(), uid: object.GetUID(), content: content,
	}
	if d == detailNone {
		return p, nil
	}
	if d == detailAll {
		if p.status, err = policy.HashOf(object.Object["status"]); err != nil {
			return nil, err
		}
	} else {
		delete(object.Object, "status")
	}
	if p.data, err = json.Marshal(object.Object); err != nil {
		return nil, fmt.Errorf("pack %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	if p.codec, err = codecs.next(p.data); err == nil && p.codec != nil {
		p.data = p.codec.pack(p.data)
	}
	return p, err
}

// unpack returns an object of the caller's own.
func (p *packed) unpack() (*unstructured.Unstructured, error) {
	data := p.data
	if p.codec != nil {
		var err error
		if data, err = p.codec.unpack(data); err != nil {
			return nil, fmt.Errorf("unpack %s/%s: %w", p.namespace, p.name, err)
		}
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("unpack %s/%s: %w", p.namespace, p.name, err)
	}
	return object, nil
}
