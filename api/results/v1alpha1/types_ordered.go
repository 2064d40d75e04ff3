// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ResultOrder asks for results in an order, page by page.
type ResultOrder struct {
	// OrderBy is timestamp, severity (critical, high, medium, low, info, then all others), result, source, policy, rule,
	// category, report.namespace, subject.kind, subject.namespace or subject.name. Results that are equal in it are
	// ordered by time, the newest first, and then by the namespaces, kinds and names of their reports, and their index
	// in these. Results without a time always come last. Empty for the newest first.
	// +optional
	OrderBy string `json:"orderBy,omitempty"`
	// Descending reverses the order of orderBy.
	// +optional
	Descending bool `json:"descending,omitempty"`
	// Limit is the largest number of results, at most 1000; 0 means 100.
	// +optional
	Limit int32 `json:"limit,omitempty"`
	// Continue is status.continue from the answer with the results before these.
	// +optional
	Continue string `json:"continue,omitempty"`
}

// OrderedResult is a result in the answer to a question.
type OrderedResult struct {
	// Namespace of the policyresult, and of its report; empty for a clusterpolicyresult.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the policyresult or clusterpolicyresult. Results of a fleetquery have no name, as they may be in other
	// clusters.
	// +optional
	Name string `json:"name,omitempty"`

	Result `json:",inline"`
}
