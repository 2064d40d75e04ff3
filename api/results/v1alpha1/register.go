// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the kinds in this package.
const GroupName = "results.docket.dev"

// SchemeGroupVersion is the group and version of the kinds in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

var (
	// SchemeBuilder collects what [AddToScheme] does.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme registers the kinds of this package.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource returns the resource with the given plural name in this group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&PolicyResult{}, &PolicyResultList{},
		&ClusterPolicyResult{}, &ClusterPolicyResultList{},
		&PolicySummary{}, &PolicySummaryList{},
		&ClusterPolicySummary{}, &ClusterPolicySummaryList{},
		&NamespaceSummary{}, &NamespaceSummaryList{},
		&ResourceSummary{}, &ResourceSummaryList{},
		&ResultQuery{},
		&LocalResultQuery{},
		&ClusterSummary{}, &ClusterSummaryList{},
		&FleetQuery{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
