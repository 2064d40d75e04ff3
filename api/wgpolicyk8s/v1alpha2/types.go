// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/api/report"
)

// ReportBody is what a PolicyReport and a ClusterPolicyReport say.
type ReportBody struct {
	// Object that the whole report is about.
	// +optional
	Scope *report.ObjectReference `json:"scope,omitempty"`

	// Labels of the objects that the report is about, where it covers many. Use
	// either scope or scopeSelector.
	// +optional
	ScopeSelector *metav1.LabelSelector `json:"scopeSelector,omitempty"`

	// Counts of the results by outcome.
	// +optional
	Summary *report.Summary `json:"summary,omitempty"`

	// Outcomes of the checked policies.
	// +optional
	Results []report.Result `json:"results,omitzero"`
}

// GetScope implements [report.Accessor].
func (b *ReportBody) GetScope() *report.ObjectReference { return b.Scope }

// GetSource implements [report.Accessor]. This group has no source of a whole
// report, so it is the one that all results share.
func (b *ReportBody) GetSource() string { return report.CommonSource(b.Results) }

// GetResults implements [report.Accessor].
func (b *ReportBody) GetResults() []report.Result { return b.Results }

// GetSummary implements [report.Accessor].
func (b *ReportBody) GetSummary() *report.Summary { return b.Summary }

// GetContent implements [report.Accessor].
func (b *ReportBody) GetContent() any { return b }

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PolicyReport tells how the objects of one namespace fare under policies.
type PolicyReport struct {
	metav1.TypeMeta `json:",inline"`

	// Name, namespace, labels and whatever else any object has.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	ReportBody `json:",inline"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PolicyReportList is a list of PolicyReports.
type PolicyReportList struct {
	metav1.TypeMeta `json:",inline"`

	// Revision of the list, and where to continue it.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The reports.
	Items []PolicyReport `json:"items"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterPolicyReport tells how cluster-scoped objects fare under policies.
type ClusterPolicyReport struct {
	metav1.TypeMeta `json:",inline"`

	// Name, namespace, labels and whatever else any object has.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	ReportBody `json:",inline"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterPolicyReportList is a list of ClusterPolicyReports.
type ClusterPolicyReportList struct {
	metav1.TypeMeta `json:",inline"`

	// Revision of the list, and where to continue it.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The reports.
	Items []ClusterPolicyReport `json:"items"`
}

var (
	_ report.Accessor = &PolicyReport{}
	_ report.Accessor = &ClusterPolicyReport{}
)
