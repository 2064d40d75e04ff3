// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Maker makes objects of a kind. It may be used by several goroutines.
type Maker struct {
	template *unstructured.Unstructured
	origin   string
	schemas  *Schemas
	// root is the schema of the kind; nil if it is not known.
	root *node
}

// NewMaker returns the maker of a kind. The objects are like the sample; without one (nil), like a built-in sample if
// there is one for the kind, and else they have what the schema (nil if it is not known) requires.
func NewMaker(kind schema.GroupVersionKind, schemas *Schemas, sample *unstructured.Unstructured) *Maker {
	m := &Maker{schemas: schemas, root: schemas.kind(kind)}
	switch builtIn := knownSamples()[kind]; {
	case sample != nil:
		m.template, m.origin = sample.DeepCopy(), "the sample file"
	case builtIn != nil:
		m.template, m.origin = builtIn.DeepCopy(), "a built-in sample"
	case m.root != nil:
		m.template, m.origin = &unstructured.Unstructured{Object: m.required()}, "the OpenAPI schema"
	default:
		m.template, m.origin = &unstructured.Unstructured{Object: map[string]any{}}, "nothing but its kind, because the server has no OpenAPI schema of it"
	}
	m.template.SetGroupVersionKind(kind)
	delete(m.template.Object, "status")
	keepMetadata(m.template)
	return m
}

// keepMetadata leaves what an object of one's own may have: names are given later, owners and
// finalizers of others would decide when it is deleted, and the rest is the server's.
func keepMetadata(object *unstructured.Unstructured) {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	delete(object.Object, "metadata")
	if len(labels) > 0 {
		object.SetLabels(labels)
	}
	if len(annotations) > 0 {
		object.SetAnnotations(annotations)
	}
}

// required makes what the schema requires. A spec is always there: many schemas forget to say that it has to be.
func (m *Maker) required() map[string]any {
	b, v := newBuilder(m.schemas), m.schemas.view(true, m.root)
	object := b.object(0, v)
	if nodes := v.property("spec"); len(nodes) > 0 && object["spec"] == nil {
		if spec, ok := b.value("spec", 1, nodes...).(map[string]any); ok {
			object["spec"] = spec
		}
	}
	return object
}

// New returns an object without a name and a namespace.
func (m *Maker) New() *unstructured.Unstructured { return m.template.DeepCopy() }

// Place gives an object a namespace; empty if its resource has none. Events are in the namespace of the object that
// they describe.
func (m *Maker) Place(object *unstructured.Unstructured, namespace string) {
	object.SetNamespace(namespace)
	if object.GetKind() != "Event" || namespace == "" {
		return
	}
	for _, name := range []string{"involvedObject", "regarding"} {
		if about, ok := object.Object[name].(map[string]any); ok {
			about["namespace"] = namespace
		}
	}
}

// Origin says where the objects come from, for people.
func (m *Maker) Origin() string { return m.origin }

// ContentChanges returns copies of an object as the server has it, each with one change that is
// neither in metadata nor in status, those first that a server most likely allows. There may be none.
// None of them starts anything: it does not change how many of something run, or whether it does.
func (m *Maker) ContentChanges(object *unstructured.Unstructured) []*unstructured.Unstructured {
	if patches, known := patchesOf(m.template.GroupVersionKind(), "content"); known {
		return merged(object, patches)
	}
	f := newFinder(m.schemas)
	f.fields(nil, []*node{m.root}, object.Object, 0, "apiVersion", "kind", "status")
	return f.changed(object)
}

// StatusChanges returns copies of an object as the server has it, each with one change in its
// status, those first that a server most likely allows. There may be none.
func (m *Maker) StatusChanges(object *unstructured.Unstructured) []*unstructured.Unstructured {
	if patches, known := patchesOf(m.template.GroupVersionKind(), "status"); known {
		return merged(object, patches)
	}
	f := newFinder(m.schemas)
	f.status = true
	root := m.schemas.view(true, m.root)
	nodes := root.at("status")
	base := object.DeepCopy()
	status, _ := base.Object["status"].(map[string]any)
	if len(nodes) > 0 {
		complete := f.builder.object(1, m.schemas.view(true, nodes...))
		maps.Copy(complete, status)
		status, base.Object["status"] = complete, complete
	}
	conditions := m.schemas.view(true, nodes...).property("conditions")
	if root.unknown() { // Most have them.
		conditions = []*node{{}}
	}
	f.conditions(status, conditions)
	switch {
	case len(nodes) > 0 || len(status) > 0:
		f.fields([]any{"status"}, nodes, status, 0)
	case !root.unknown() && root.open():
		f.addKey([]any{"status"}, status, nil, scoreOpen)
	}
	return f.changed(base)
}

// merged returns copies of an object with each of some patches that makes a difference.
func merged(object *unstructured.Unstructured, patches []map[string]any) []*unstructured.Unstructured {
	var changed []*unstructured.Unstructured
	for _, patch := range patches {
		one := object.DeepCopy()
		if merge(one.Object, patch) {
			changed = append(changed, one)
		}
	}
	return changed
}

// merge does what a merge patch asks for, and reports whether that was something.
func merge(object, patch map[string]any) (changed bool) {
	for name, value := range patch {
		before, exists := object[name]
		fields, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, name)
			changed = changed || exists
		case isObject:
			inner, ok := before.(map[string]any)
			if !ok {
				inner = map[string]any{}
				object[name] = inner
				changed = true
			}
			changed = merge(inner, fields) || changed
		default:
			object[name] = runtime.DeepCopyJSONValue(value)
			changed = changed || !same(before, value)
		}
	}
	return changed
}
