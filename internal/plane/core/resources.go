// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
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
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resources returns the table of all stored resources.
func resources() []resource {
	rows := slices.Concat(
		coreResources(), appsResources(), batchResources(), networkingResources(), policyResources(),
		rbacResources(), admissionResources(), systemResources(),
	)
	for i := range rows {
		rows[i] = rows[i].withRules()
	}
	return rows
}

// Served is a group version of the core API, and its place in discovery.
type Served struct {
	schema.GroupVersion

	// GroupPriorityMinimum and VersionPriority are the fields of its APIService.
	GroupPriorityMinimum, VersionPriority int32
}

// GroupVersions returns what is served, v1 of the legacy group first, with the
// priorities that Kubernetes gives their APIServices.
func GroupVersions() []Served {
	return []Served{
		{corev1.SchemeGroupVersion, 18000, 1},
		{appsv1.SchemeGroupVersion, 17800, 15},
		{authenticationv1.SchemeGroupVersion, 17700, 15},
		{authorizationv1.SchemeGroupVersion, 17600, 15},
		{batchv1.SchemeGroupVersion, 17400, 15},
		{networkingv1.SchemeGroupVersion, 17200, 15},
		{policyv1.SchemeGroupVersion, 17100, 15},
		{rbacv1.SchemeGroupVersion, 17000, 15},
		{admissionregistrationv1.SchemeGroupVersion, 16700, 15},
		{coordinationv1.SchemeGroupVersion, 16500, 15},
		{discoveryv1.SchemeGroupVersion, 16200, 15},
		{flowcontrolv1.SchemeGroupVersion, 16100, 21},
	}
}
