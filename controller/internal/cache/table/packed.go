// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Packed is an object as a table keeps it: its JSON, because the same as Go maps takes several times
// the memory. It never changes.
type Packed struct {
	namespace, name string
	uid             types.UID
	version         string
	// data is a string so that what is decoded of it can be parts of it.
	data string
	// dropped: a filter has left it out, and data are empty.
	dropped bool
	// failure is why a filter can't tell.
	failure error
}

// Pack keeps the parts of an object that expressions see: everything except managed fields and the last
// applied configuration of kubectl. It doesn't change object.
func Pack(object *unstructured.Unstructured) (*Packed, error) {
	var data strings.Builder
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false) // A string without escapes is decoded for nothing.
	if err := encoder.Encode(stripped(object.Object)); err != nil {
		return nil, fmt.Errorf("pack %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	return &Packed{
		namespace: object.GetNamespace(), name: object.GetName(),
		uid: object.GetUID(), version: object.GetResourceVersion(), data: strings.Clone(strings.TrimSuffix(data.String(), "\n")),
	}, nil
}

// stripped shares values with object.
func stripped(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	_, managed := metadata["managedFields"]
	_, applied := annotations[policy.LastApplied]
	if !managed && !applied {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	object["metadata"] = metadata
	delete(metadata, "managedFields")
	if applied {
		annotations = maps.Clone(annotations)
		delete(annotations, policy.LastApplied)
		metadata["annotations"] = annotations
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	return object
}

// GetObjectMeta has client-go find the name.
func (p *Packed) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, UID: p.uid, ResourceVersion: p.version}
}

// Size estimates the memory that the object takes in a table.
func (p *Packed) Size() int64 {
	return packedBytes + int64(len(p.data)+len(p.name)+len(p.uid)+len(p.version))
}

// packedBytes are the fields of a Packed and the pointer to it.
const packedBytes = 96

// value decodes what is needed of the object; all of it if needed is nil.
func (p *Packed) value(needed *need) (map[string]any, error) {
	value, err := decode(p.data, needed)
	if err != nil {
		return nil, fmt.Errorf("unpack %s/%s: %w", p.namespace, p.name, err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("unpack %s/%s: not an object", p.namespace, p.name)
	}
	return object, nil
}

// compare orders objects as etcd does, by namespace/name. A namespace is not less than another just
// because it is its beginning: "/" comes after "-".
func compare(namespaceA, nameA, namespaceB, nameB string) int {
	if namespaceA == namespaceB {
		return strings.Compare(nameA, nameB)
	}
	n := min(len(namespaceA), len(namespaceB))
	if c := strings.Compare(namespaceA[:n], namespaceB[:n]); c != 0 {
		return c
	}
	if len(namespaceA) == n {
		return int('/') - int(namespaceB[n])
	}
	return int(namespaceA[n]) - int('/')
}

func compareObjects(a, b *Packed) int { return compare(a.namespace, a.name, b.namespace, b.name) }

// Change says what a call has changed.
type Change int

// The changes, in order of weight.
const (
	// None: expressions see what they have seen.
	None Change = iota
	// StatusOnly: only status, metadata.resourceVersion and metadata.generation.
	StatusOnly
	// Content: anything else; an object that is new or gone.
	Content
)

// changeOf compares two states of one object.
func changeOf(before, after *Packed) Change {
	if before.data == after.data {
		return None
	}
	a, errA := before.value(nil)
	b, errB := after.value(nil)
	if errA != nil || errB != nil {
		return Content
	}
	for _, object := range []map[string]any{a, b} {
		delete(object, "status")
		if metadata, ok := object["metadata"].(map[string]any); ok {
			delete(metadata, "resourceVersion")
			delete(metadata, "generation")
		}
	}
	if reflect.DeepEqual(a, b) {
		return StatusOnly
	}
	return Content
}
