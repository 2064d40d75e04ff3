// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/reports/document"
)

// objectTypes does for served kinds what a scheme does: one Go type stands for all of them, which a scheme can't hold.
// A scheme does it for everything else.
type objectTypes struct {
	*runtime.Scheme

	kinds map[schema.GroupVersionKind]Kind
}

var (
	_ runtime.ObjectTyper     = objectTypes{}
	_ runtime.ObjectCreater   = objectTypes{}
	_ runtime.ObjectConvertor = objectTypes{}
	_ runtime.ObjectDefaulter = objectTypes{}
)

// newTypes returns the types of kinds. The internal version of a kind is its first one: they differ in nothing.
func newTypes(scheme *runtime.Scheme, kinds []Kind) objectTypes {
	t := objectTypes{Scheme: scheme, kinds: map[schema.GroupVersionKind]Kind{}}
	for _, kind := range kinds {
		t.kinds[kind.GroupVersionKind] = kind
		internal := kind.GroupVersionKind.GroupKind().WithVersion(runtime.APIVersionInternal)
		if _, ok := t.kinds[internal]; !ok {
			t.kinds[internal] = kind
		}
	}
	return t
}

// ObjectKinds implements runtime.ObjectTyper.
func (t objectTypes) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	switch o := obj.(type) {
	case *document.Object:
		return []schema.GroupVersionKind{o.Of.GroupVersionKind}, false, nil
	case *document.List:
		return []schema.GroupVersionKind{o.GroupVersionKind()}, false, nil
	}
	return t.Scheme.ObjectKinds(obj)
}

// Recognizes implements runtime.ObjectTyper.
func (t objectTypes) Recognizes(gvk schema.GroupVersionKind) bool {
	_, ok := t.kinds[gvk]
	return ok || t.Scheme.Recognizes(gvk)
}

// New implements runtime.ObjectCreater.
func (t objectTypes) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if kind, ok := t.kinds[gvk]; ok {
		return kind.New(), nil
	}
	for _, kind := range t.kinds {
		if kind.ListKind() == gvk {
			return kind.NewList(), nil
		}
	}
	return t.Scheme.New(gvk)
}

// Default implements runtime.ObjectDefaulter. Objects get their defaults where they are read.
func (t objectTypes) Default(runtime.Object) {}

// Convert implements runtime.ObjectConvertor.
func (t objectTypes) Convert(in, out, _ any) error {
	from, ok := in.(*document.Object)
	to, okay := out.(*document.Object)
	if !ok || !okay {
		return fmt.Errorf("a %T can't be made a %T", in, out)
	}
	converted, err := from.To(to.Of)
	if err != nil {
		return err
	}
	*to = *converted
	return nil
}

// ConvertToVersion implements runtime.ObjectConvertor. The internal version of an object states no type.
func (t objectTypes) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	switch o := in.(type) {
	case *document.Object:
		return t.convert(o, gv)
	case *document.List:
		return o, nil // It is written as its items are.
	case runtime.Unstructured: // The result of an apply.
		if kind, ok := t.kinds[in.GetObjectKind().GroupVersionKind()]; ok {
			read, err := kind.Object(in)
			if err != nil {
				return nil, err
			}
			return t.convert(read, gv)
		}
	}
	return t.Scheme.ConvertToVersion(in, gv)
}

func (t objectTypes) convert(o *document.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	target, ok := gv.KindForGroupVersionKinds([]schema.GroupVersionKind{o.Of.GroupVersionKind})
	if !ok {
		return nil, runtime.NewNotRegisteredErrForTarget("document", reflect.TypeOf(o), gv)
	}
	if target.Version == runtime.APIVersionInternal {
		shallow := *o
		shallow.SetGroupVersionKind(schema.GroupVersionKind{})
		return &shallow, nil
	}
	kind, ok := t.kinds[target]
	if !ok {
		return nil, runtime.NewNotRegisteredErrForKind("document", target)
	}
	return o.To(kind.document)
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (t objectTypes) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	if kind, ok := t.kinds[gvk]; ok {
		return kind.ConvertField(label, value)
	}
	return t.Scheme.ConvertFieldLabel(gvk, label, value)
}
