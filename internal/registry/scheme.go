// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	kyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
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
	builder := runtime.NewSchemeBuilder(
		openreports.AddToScheme, kyverno.AddToScheme, wgpolicy.AddToScheme, addUnversionedTypes,
	)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register report types: %w", err)
	}
	for _, kind := range Kinds() {
		if err := scheme.SetVersionPriority(kind.GroupVersion()); err != nil {
			return nil, fmt.Errorf("set the version of group %s: %w", kind.GroupVersionKind.Group, err)
		}
	}
	return scheme, nil
}

// addUnversionedTypes registers the types of errors and discovery documents.
func addUnversionedTypes(scheme *runtime.Scheme) error {
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
	return nil
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

// textSerializer offers all media types of a serializer but protobuf.
//
// Why not all: reports have no protobuf form. If it were offered, a client that
// accepts protobuf before JSON would get 406 instead of JSON.
type textSerializer struct {
	runtime.NegotiatedSerializer
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s textSerializer) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(s.NegotiatedSerializer.SupportedMediaTypes()),
		func(info runtime.SerializerInfo) bool { return info.MediaType == runtime.ContentTypeProtobuf })
}
