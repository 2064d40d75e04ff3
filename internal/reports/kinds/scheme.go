// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RegisterInternal makes a scheme that knows the served version of k know the internal
// one, and the fields that can be selected.
//
// Every kind has one version, and one Go type is both that version and the internal one.
// Converting between the two therefore copies nothing and only sets the kind inside the
// object. Hence an object that goes to several readers at once (a watch event) needs a
// shallow copy for each: encoding sets its TypeMeta.
func (k Kind[O]) RegisterInternal(scheme *runtime.Scheme) error {
	internal := schema.GroupVersion{Group: k.GroupVersionKind.Group, Version: runtime.APIVersionInternal}
	scheme.AddKnownTypeWithName(internal.WithKind(k.GroupVersionKind.Kind), k.New())
	scheme.AddKnownTypeWithName(internal.WithKind(k.ListKind().Kind), k.NewList())
	if err := scheme.AddFieldLabelConversionFunc(k.GroupVersionKind, k.ConvertField); err != nil {
		return fmt.Errorf("register selectable fields of %s: %w", k.GroupResource(), err)
	}
	return nil
}

// AddUnversionedTypes registers the types of errors and discovery documents.
func AddUnversionedTypes(scheme *runtime.Scheme) error {
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
