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

	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/kinds"
)

// NewScheme returns a scheme that knows every kind of [Kinds], its selectable
// fields, and the types that each API server needs.
func NewScheme() (*runtime.Scheme, error) {
	scheme, err := newVersionedScheme()
	if err != nil {
		return nil, err
	}
	for _, kind := range Kinds() {
		if err := kind.RegisterInternal(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// newVersionedScheme returns a scheme with the served versions only.
func newVersionedScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := kinds.AddUnversionedTypes(scheme); err != nil {
		return nil, err
	}
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

// NewCodecs returns the serializers of a scheme made by [NewScheme].
func NewCodecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme)
}

// NewDefinitionNamer returns what names the OpenAPI definitions of all kinds, and of those that others add to a scheme.
//
// Why not the scheme of the server: that one also knows the internal version, which would
// be published as one more version of each kind.
func NewDefinitionNamer(others ...func(*runtime.Scheme) error) (*openapinamer.DefinitionNamer, error) {
	scheme, err := newVersionedScheme()
	if err != nil {
		return nil, err
	}
	for _, add := range others {
		if err := add(scheme); err != nil {
			return nil, err
		}
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
