// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/plane/core/review"
	"github.com/docket-project/docket/internal/reports/kinds"
)

// NewScheme returns a scheme that knows every kind that is served, its selectable
// fields, and the types that each API server needs.
//
// Defaults are not the scheme's: they are set when an object is written.
func NewScheme() (*runtime.Scheme, error) {
	scheme, err := newVersionedScheme()
	if err != nil {
		return nil, err
	}
	for _, row := range resources() {
		if err := row.RegisterInternal(scheme); err != nil {
			return nil, err
		}
	}
	for _, kind := range review.Kinds() {
		internal := schema.GroupVersion{Group: kind.GroupVersion.Group, Version: runtime.APIVersionInternal}
		scheme.AddKnownTypes(internal, kind.New())
	}
	return scheme, nil
}

// newVersionedScheme returns a scheme with the served versions only.
func newVersionedScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, networkingv1.AddToScheme,
		discoveryv1.AddToScheme, policyv1.AddToScheme, coordinationv1.AddToScheme, rbacv1.AddToScheme,
		admissionregistrationv1.AddToScheme, flowcontrolv1.AddToScheme,
		authenticationv1.AddToScheme, authorizationv1.AddToScheme, kinds.AddUnversionedTypes,
	)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the types of the core API: %w", err)
	}
	for _, served := range GroupVersions() {
		if err := scheme.SetVersionPriority(served.GroupVersion); err != nil {
			return nil, fmt.Errorf("set the version of group %q: %w", served.Group, err)
		}
	}
	return scheme, nil
}

// storedVersions are the versions in which objects are stored.
func storedVersions() []schema.GroupVersion {
	var versions []schema.GroupVersion
	for _, row := range resources() {
		if version := row.GroupVersion(); !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	return versions
}
