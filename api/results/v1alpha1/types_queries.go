// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResultQuery is a question about results, both in all namespaces and outside namespaces. It is answered when it
// is created, and not stored.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ResultQuery struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the question.
	// +optional
	Spec ResultQuerySpec `json:"spec,omitempty"`
	// Status is the answer.
	// +optional
	Status ResultQueryStatus `json:"status,omitempty"`
}

// LocalResultQuery is a question about the results in reports of its namespace. It is answered when it is created, and
// not stored.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type LocalResultQuery struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the question.
	// +optional
	Spec ResultQuerySpec `json:"spec,omitempty"`
	// Status is the answer.
	// +optional
	Status ResultQueryStatus `json:"status,omitempty"`
}

// ResultQuerySpec is a question about results.
type ResultQuerySpec struct {
	// Filter is an expression in CEL over the fields of a result. Results for which it is true are counted, as in
	// result == "fail" && severity in ["critical", "high"]. Empty for all.
	// +optional
	Filter string `json:"filter,omitempty"`
	// GroupBy are the fields whose values are counted separately: every field of filters except timestamp and
	// report.created, and also cluster, with properties as properties["name"]; message, with {name}, {namespace} and {uid}
	// where it names the resource; and day, the date of the timestamp in UTC, such as 2026-11-25. Empty for one count of
	// everything.
	// +optional
	// +listType=atomic
	GroupBy []string `json:"groupBy,omitempty"`
	// Aggregates to compute besides the number of results: subjects, namespaces, policies, sources, clusters, oldest
	// and newest.
	// +optional
	// +listType=atomic
	Aggregates []string `json:"aggregates,omitempty"`
	// Having is an expression in CEL over results and the numbers in aggregates. Groups for which it is true are in the
	// answer, as in sources >= 2 && results > 10. It can have comparisons with whole numbers, and &&. Empty for all.
	// +optional
	Having string `json:"having,omitempty"`
	// OrderBy is a field of groupBy, an aggregate or results. Empty for the order of groupBy.
	// +optional
	OrderBy string `json:"orderBy,omitempty"`
	// Descending reverses the order.
	// +optional
	Descending bool `json:"descending,omitempty"`
	// Limit is the largest number of groups, at most 1000; 0 means 100.
	// +optional
	Limit int32 `json:"limit,omitempty"`
	// Results asks for results in place of groups. It can be combined only with filter.
	// +optional
	Results *ResultOrder `json:"results,omitempty"`
}

// ResultQueryStatus is the answer to a question.
type ResultQueryStatus struct {
	// ResourceVersion is the version of the state that was read. Empty if several clusters were read.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Groups of results.
	// +optional
	// +listType=atomic
	Groups []ResultGroup `json:"groups,omitempty"`
	// More says that there are more groups, or results, than the limit.
	// +optional
	More bool `json:"more,omitempty"`
	// Results in the order of spec.results.
	// +optional
	// +listType=atomic
	Results []OrderedResult `json:"results,omitempty"`
	// Continue is the value for spec.results.continue that asks for the following results; empty if there are none.
	// +optional
	Continue string `json:"continue,omitempty"`
}

// ResultGroup is the group of results that have the same values in all fields of groupBy.
type ResultGroup struct {
	// By are the values of the fields of groupBy.
	// +optional
	By map[string]string `json:"by,omitempty"`
	// Results is the number of results in the group.
	Results int64 `json:"results"`
	// Subjects is the number of different resources that the results are about.
	// +optional
	Subjects *int64 `json:"subjects,omitempty"`
	// Namespaces is the number of different namespaces of the results' reports.
	// +optional
	Namespaces *int64 `json:"namespaces,omitempty"`
	// Policies is the number of different names of policies.
	// +optional
	Policies *int64 `json:"policies,omitempty"`
	// Sources is the number of different sources.
	// +optional
	Sources *int64 `json:"sources,omitempty"`
	// Clusters is the number of different clusters of the results.
	// +optional
	Clusters *int64 `json:"clusters,omitempty"`
	// ClusterNames are the first 10 of these clusters, if aggregates includes clusters.
	// +optional
	// +listType=atomic
	ClusterNames []string `json:"clusterNames,omitempty"`
	// Oldest is the earliest time among the results that have one.
	// +optional
	Oldest *metav1.Time `json:"oldest,omitempty"`
	// Newest is the latest time among the results that have one.
	// +optional
	Newest *metav1.Time `json:"newest,omitempty"`
}
