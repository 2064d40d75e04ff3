// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Counts are numbers of results.
type Counts struct {
	// Pass is the number of results that are pass.
	Pass int64 `json:"pass"`
	// Fail is the number of results that are fail.
	Fail int64 `json:"fail"`
	// Warn is the number of results that are warn.
	Warn int64 `json:"warn"`
	// Error is the number of results that are error.
	Error int64 `json:"error"`
	// Skip is the number of results that are skip.
	Skip int64 `json:"skip"`
	// Total is the number of all results, which may be more than the sum of the others.
	Total int64 `json:"total"`
	// FailBySeverity are the numbers of failures by severity; failures without a severity are counted under "none".
	// +optional
	FailBySeverity map[string]int64 `json:"failBySeverity,omitempty"`
}

// GetCounts returns the numbers of a summary.
func (c *Counts) GetCounts() *Counts { return c }

// PolicySummary counts the results of a policy in the reports of a namespace.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PolicySummary struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has a name that is made of source and policy.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Source of the results that are counted.
	// +optional
	Source string `json:"source,omitempty"`
	// Policy whose results are counted.
	// +optional
	Policy string `json:"policy,omitempty"`

	Counts `json:",inline"`
}

// PolicySummaryList is a page of summaries.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PolicySummaryList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the page.
	Items []PolicySummary `json:"items"`
}

// ClusterPolicySummary counts the results of a policy in all reports, including those outside namespaces.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterPolicySummary struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has a name that is made of source and policy.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Source of the results that are counted.
	// +optional
	Source string `json:"source,omitempty"`
	// Policy whose results are counted.
	// +optional
	Policy string `json:"policy,omitempty"`
	// Namespaces is the number of namespaces with results of the policy.
	Namespaces int64 `json:"namespaces"`
	// FailingNamespaces is the number of namespaces where the policy fails.
	FailingNamespaces int64 `json:"failingNamespaces"`

	Counts `json:",inline"`
}

// ClusterPolicySummaryList is a page of summaries.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterPolicySummaryList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the page.
	Items []ClusterPolicySummary `json:"items"`
}

// NamespaceSummary counts the results in the reports of a namespace. It has the name of the namespace.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type NamespaceSummary struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Policies is the number of policies with results in the namespace.
	Policies int64 `json:"policies"`
	// FailingPolicies is the number of policies that fail in the namespace.
	FailingPolicies int64 `json:"failingPolicies"`

	Counts `json:",inline"`
}

// NamespaceSummaryList is a page of summaries.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type NamespaceSummaryList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the page.
	Items []NamespaceSummary `json:"items"`
}

// ResourceSummary counts the results about a resource in the reports of a namespace.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ResourceSummary struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has a name that is made of the resource. A new resource of the same name has the same name here.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Subject is the resource, without its UID.
	Subject Subject `json:"subject"`
	// Policies is the number of policies with results about the resource.
	Policies int64 `json:"policies"`
	// FailingPolicies is the number of policies that the resource fails.
	FailingPolicies int64 `json:"failingPolicies"`

	Counts `json:",inline"`
}

// ResourceSummaryList is a page of summaries.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ResourceSummaryList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the page.
	Items []ResourceSummary `json:"items"`
}
