// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"

	"github.com/docket-project/docket/internal/document"
)

// NewScheme returns a scheme that knows every kind of [Kinds], its selectable
// fields, and the types that each API server needs.
//
// Every kind has one version, and one Go type is both that version and the
// internal one. Converting between the two therefore copies nothing and only sets
// the kind inside the object. Hence an object that goes to several readers at once
// (a watch event) needs a shallow copy for each: encoding sets its TypeMeta.
func NewScheme() (*runtime.Scheme, error) {
	scheme, err := newVersionedScheme()
	if err != nil {
		return nil, err
	}
	for _, kind := range Kinds() {
		gvk := kind.GroupVersionKind
		internal := schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal}
		scheme.AddKnownTypeWithName(internal.WithKind(gvk.Kind), kind.New())
		scheme.AddKnownTypeWithName(internal.WithKind(kind.ListKind().Kind), kind.NewList())
		err := scheme.AddFieldLabelConversionFunc(gvk, kind.convertField)
		if err != nil {
			return nil, fmt.Errorf("register selectable fields of %s: %w", kind.GroupResource(), err)
		}
	}
	return scheme, nil
}

// newVersionedScheme returns a scheme with the served versions only.
func newVersionedScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	addUnversionedTypes(scheme)
	for _, kind := range Kinds() {
		scheme.AddKnownTypeWithName(kind.GroupVersionKind, kind.New())
		scheme.AddKnownTypeWithName(kind.ListKind(), kind.NewList())
	}
	for _, kind := range Kinds() {
		metav1.AddToGroupVersion(scheme, kind.GroupVersion())
		if err := scheme.SetVersionPriority(kind.GroupVersion()); err != nil {
			return nil, fmt.Errorf("set the version of group %s: %w", kind.GroupVersionKind.Group, err)
		}
	}
	return scheme, nil
}

// addUnversionedTypes registers the types of errors and discovery documents.
func addUnversionedTypes(scheme *runtime.Scheme) {
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
}

// NewCodecs returns the serializers of a scheme made by [NewScheme].
func NewCodecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme)
}

// NewDefinitionNamer returns what names the OpenAPI definitions of all kinds.
//
// Why not from the scheme of the server: that one also knows the internal version,
// which would be published as one more version of each kind.
func NewDefinitionNamer() (*openapinamer.DefinitionNamer, error) {
	scheme, err := newVersionedScheme()
	if err != nil {
		return nil, err
	}
	return openapinamer.NewDefinitionNamer(scheme), nil
}

// NewStorageCodec returns what encodes and decodes reports of all kinds as they are
// stored.
func NewStorageCodec() runtime.Codec {
	return document.NewCodec(func(gvk schema.GroupVersionKind) (runtime.Object, error) {
		for _, kind := range Kinds() {
			if kind.GroupVersionKind == gvk {
				return kind.New(), nil
			}
		}
		return nil, fmt.Errorf("%s is not a kind of report", gvk)
	})
}
