// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of policies.
const (
	ClusterPolicy              = "ClusterPolicy"
	NamespacedPolicy           = "Policy"
	ValidatingPolicy           = "ValidatingPolicy"
	NamespacedValidatingPolicy = "NamespacedValidatingPolicy"
	ImageValidatingPolicy      = "ImageValidatingPolicy"
	// NamespacedImageValidatingPolicy is the same in a namespace.
	NamespacedImageValidatingPolicy = "NamespacedImageValidatingPolicy"
	MutatingPolicy                  = "MutatingPolicy"
	NamespacedMutatingPolicy        = "NamespacedMutatingPolicy"
	// ValidatingAdmissionPolicy is Kubernetes' own.
	ValidatingAdmissionPolicy = "ValidatingAdmissionPolicy"
	// ValidatingAdmissionPolicyBinding is the kind of the objects that put one into effect.
	ValidatingAdmissionPolicyBinding = "ValidatingAdmissionPolicyBinding"
	// MutatingAdmissionPolicy is Kubernetes' own as well.
	MutatingAdmissionPolicy = "MutatingAdmissionPolicy"
	// MutatingAdmissionPolicyBinding is the kind of the objects that put one into effect.
	MutatingAdmissionPolicyBinding = "MutatingAdmissionPolicyBinding"
	// Exception is the kind of exceptions, in both groups.
	Exception = "PolicyException"
)

// The API groups of policies and their exceptions.
const (
	KyvernoGroup = "kyverno.io"
	CELGroup     = "policies.kyverno.io"
	// AdmissionGroup has Kubernetes' own policies, and the configurations of webhooks.
	AdmissionGroup = "admissionregistration.k8s.io"
)

// DisabledLabel keeps the results of a policy out of reports, whatever its value.
const DisabledLabel = "reports.kyverno.io/disabled"

// Kinds lists the kinds of policies with the plural names of their resources.
func Kinds() map[schema.GroupKind]string {
	return map[schema.GroupKind]string{
		{Group: KyvernoGroup, Kind: ClusterPolicy}:               "clusterpolicies",
		{Group: KyvernoGroup, Kind: NamespacedPolicy}:            "policies",
		{Group: CELGroup, Kind: ValidatingPolicy}:                "validatingpolicies",
		{Group: CELGroup, Kind: NamespacedValidatingPolicy}:      "namespacedvalidatingpolicies",
		{Group: CELGroup, Kind: ImageValidatingPolicy}:           "imagevalidatingpolicies",
		{Group: CELGroup, Kind: NamespacedImageValidatingPolicy}: "namespacedimagevalidatingpolicies",
		{Group: CELGroup, Kind: MutatingPolicy}:                  "mutatingpolicies",
		{Group: CELGroup, Kind: NamespacedMutatingPolicy}:        "namespacedmutatingpolicies",
		{Group: AdmissionGroup, Kind: ValidatingAdmissionPolicy}: "validatingadmissionpolicies",
		{Group: AdmissionGroup, Kind: MutatingAdmissionPolicy}:   "mutatingadmissionpolicies",
	}
}

// ExceptionKinds lists the kinds of exceptions, and of bindings, with the plural names of their
// resources: what decides with a policy where it applies.
func ExceptionKinds() map[schema.GroupKind]string {
	return map[schema.GroupKind]string{
		{Group: KyvernoGroup, Kind: Exception}:                          "policyexceptions",
		{Group: CELGroup, Kind: Exception}:                              "policyexceptions",
		{Group: AdmissionGroup, Kind: ValidatingAdmissionPolicyBinding}: "validatingadmissionpolicybindings",
		{Group: AdmissionGroup, Kind: MutatingAdmissionPolicyBinding}:   "mutatingadmissionpolicybindings",
	}
}

// Identity identifies a policy in a cluster. Kinds of policies are unique without their group.
type Identity struct {
	Kind string
	// Namespace is empty for cluster-scoped kinds.
	Namespace string
	Name      string
}

// String returns kind/name or kind/namespace/name, which [ParseIdentity] reads.
func (i Identity) String() string {
	if i.Namespace == "" {
		return i.Kind + "/" + i.Name
	}
	return i.Kind + "/" + i.Namespace + "/" + i.Name
}

// ResultName returns the name of the policy in results: name or namespace/name, as in Kyverno.
func (i Identity) ResultName() string {
	if i.Namespace == "" {
		return i.Name
	}
	return i.Namespace + "/" + i.Name
}

// ParseIdentity is the inverse of [Identity.String].
func ParseIdentity(text string) (Identity, error) {
	parts := strings.Split(text, "/")
	switch {
	case len(parts) == 2 && !slices.Contains(parts, ""):
		return Identity{Kind: parts[0], Name: parts[1]}, nil
	case len(parts) == 3 && !slices.Contains(parts, ""):
		return Identity{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, nil
	default:
		return Identity{}, fmt.Errorf("%q is not kind/name or kind/namespace/name of a policy", text)
	}
}
