// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Result is what a policy says about one resource.
type Result struct {
	// Cluster whose report has the result, by the name that the server has for it.
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// Result is pass, fail, warn, error or skip, or any other value in the report.
	// +optional
	Result string `json:"result,omitempty"`
	// Severity is critical, high, medium, low or info.
	// +optional
	Severity string `json:"severity,omitempty"`
	// Source is the engine that found the result.
	// +optional
	Source string `json:"source,omitempty"`
	// Policy is the name of the policy, as the engine has it.
	// +optional
	Policy string `json:"policy,omitempty"`
	// Rule of the policy.
	// +optional
	Rule string `json:"rule,omitempty"`
	// Category of the policy.
	// +optional
	Category string `json:"category,omitempty"`
	// Scored says that the result counts for a score.
	// +optional
	Scored bool `json:"scored,omitempty"`
	// Subject is the resource that the result is about. Empty if neither the result nor its report names one.
	// +optional
	Subject *Subject `json:"subject,omitempty"`
	// Message for people.
	// +optional
	Message string `json:"message,omitempty"`
	// Timestamp is when the result was found, in whole seconds.
	// +optional
	Timestamp *metav1.Time `json:"timestamp,omitempty"`
	// Properties are more facts about the result.
	// +optional
	Properties map[string]string `json:"properties,omitempty"`
	// Report that has the result.
	Report ReportReference `json:"report"`
}

// GetResult returns the result in an object.
func (r *Result) GetResult() *Result { return r }

// Subject is the resource that a result is about, as the report names it.
type Subject struct {
	// APIVersion of the resource.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind of the resource.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Namespace of the resource; empty outside namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the resource.
	// +optional
	Name string `json:"name,omitempty"`
	// UID of the resource.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// String returns Kind/namespace/name, without the empty parts; "" if all are empty.
func (s *Subject) String() string {
	if s == nil {
		return ""
	}
	var parts []string
	for _, part := range []string{s.Kind, s.Namespace, s.Name} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// ReportReference names a report.
type ReportReference struct {
	// Kind is PolicyReport, ClusterPolicyReport, Report or ClusterReport.
	Kind string `json:"kind"`
	// Name of the report, which is in the result's namespace.
	Name string `json:"name"`
	// Index of the result in the report's list of results, from 0.
	Index int32 `json:"index"`
}

// PolicyResult is a result in a report of a namespace.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PolicyResult struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has a name that is made of the report's name and of source, policy, rule and subject.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Result `json:",inline"`
}

// PolicyResultList is a page of results, in the order of their reports' namespaces, kinds and names.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PolicyResultList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Consistency of this page with the first one.
	// +optional
	Consistency Consistency `json:"consistency,omitempty"`
	// Items of the page.
	Items []PolicyResult `json:"items"`
}

// Consistency says what pages of a list have in common.
type Consistency string

const (
	// ConsistencySnapshot says that this page and those before it show one state, the one of resourceVersion.
	ConsistencySnapshot Consistency = "Snapshot"
	// ConsistencyStable says that reports have changed since the first page. Results that existed all the time are in
	// exactly one page, in their state when that page was read; results that were created or deleted may be in none.
	ConsistencyStable Consistency = "Stable"
)

// ClusterPolicyResult is a result in a report outside namespaces.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterPolicyResult struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has a name that is made of the report's name and of source, policy, rule and subject.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Result `json:",inline"`
}

// ClusterPolicyResultList is a page of results, in the order of their reports' kinds and names.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterPolicyResultList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Consistency of this page with the first one.
	// +optional
	Consistency Consistency `json:"consistency,omitempty"`
	// Items of the page.
	Items []ClusterPolicyResult `json:"items"`
}
