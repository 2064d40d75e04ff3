// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterSummary counts the results of one of the clusters whose reports are in the database, under its name in the
// database. Users who may read it see that cluster's numbers, whatever rights they have in the cluster itself.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterSummary struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// FirstSeen is when the cluster was first served from the database.
	// +optional
	FirstSeen *metav1.Time `json:"firstSeen,omitempty"`
	// Changed is when a report of the cluster changed last. Empty if the history no longer has the change.
	// +optional
	Changed *metav1.Time `json:"changed,omitempty"`
	// Servers is the number of servers that serve the cluster now.
	Servers int32 `json:"servers"`
	// Reports is the number of reports.
	Reports int64 `json:"reports"`
	// Policies is the number of policies with results.
	Policies int64 `json:"policies"`
	// FailingPolicies is the number of policies that fail.
	FailingPolicies int64 `json:"failingPolicies"`

	Counts `json:",inline"`
}

// ClusterSummaryList is a page of summaries.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterSummaryList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the page.
	Items []ClusterSummary `json:"items"`
}

// FleetQuery is a question about the results of all clusters whose reports are in the database. It is answered when
// it is created, and not stored. Clusters are read one after the other, each at one moment. Users who may create it
// see results of all clusters, whatever rights they have in these.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type FleetQuery struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the question. Resources and namespaces of different clusters count as different; policies and sources of
	// the same name count as one.
	// +optional
	Spec ResultQuerySpec `json:"spec,omitempty"`
	// Status is the answer.
	// +optional
	Status ResultQueryStatus `json:"status,omitempty"`
}
