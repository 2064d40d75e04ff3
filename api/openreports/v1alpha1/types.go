// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/api/report"
)

// Limits says what a producer leaves out of its reports.
type Limits struct {
	// Greatest number of results in the report.
	// +optional
	MaxResults *int64 `json:"maxResults,omitempty"`

	// Outcomes that the report contains; all if empty.
	// +optional
	StatusFilter []report.Outcome `json:"statusFilter,omitzero"`
}

// ReportConfiguration is what producers and readers of a report agree on.
type ReportConfiguration struct {
	// What the producer leaves out. Required.
	Limits *Limits `json:"limits"`
}

// ReportBody is what a Report and a ClusterReport say.
type ReportBody struct {
	// Engine or scanner that produced all results. Where there are several, each
	// result names its own.
	// +optional
	Source *string `json:"source,omitempty"`

	// Object that the whole report is about.
	// +optional
	Scope *report.ObjectReference `json:"scope,omitempty"`

	// Labels of the objects that the report is about, where it covers many. Use
	// either scope or scopeSelector.
	// +optional
	ScopeSelector *metav1.LabelSelector `json:"scopeSelector,omitempty"`

	// What readers can expect of the producer.
	// +optional
	Configuration *ReportConfiguration `json:"configuration,omitempty"`

	// Counts of the results by outcome.
	// +optional
	Summary *report.Summary `json:"summary,omitempty"`

	// Outcomes of the checked policies.
	// +optional
	Results []report.Result `json:"results,omitzero"`
}

// GetScope implements [report.Accessor].
func (b *ReportBody) GetScope() *report.ObjectReference { return b.Scope }

// GetSource implements [report.Accessor].
func (b *ReportBody) GetSource() string {
	if b.Source != nil && *b.Source != "" {
		return *b.Source
	}
	return report.CommonSource(b.Results)
}

// GetResults implements [report.Accessor].
func (b *ReportBody) GetResults() []report.Result { return b.Results }

// GetSummary implements [report.Accessor].
func (b *ReportBody) GetSummary() *report.Summary { return b.Summary }

// GetContent implements [report.Accessor].
func (b *ReportBody) GetContent() any { return b }

// GetConfiguration returns what producers and readers agree on, or nil.
func (b *ReportBody) GetConfiguration() *ReportConfiguration { return b.Configuration }

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Report tells how the objects of one namespace fare under policies.
type Report struct {
	metav1.TypeMeta `json:",inline"`

	// Name, namespace, labels and whatever else any object has.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	ReportBody `json:",inline"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReportList is a list of Reports.
type ReportList struct {
	metav1.TypeMeta `json:",inline"`

	// Revision of the list, and where to continue it.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The reports.
	Items []Report `json:"items"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterReport tells how cluster-scoped objects fare under policies.
type ClusterReport struct {
	metav1.TypeMeta `json:",inline"`

	// Name, namespace, labels and whatever else any object has.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	ReportBody `json:",inline"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterReportList is a list of ClusterReports.
type ClusterReportList struct {
	metav1.TypeMeta `json:",inline"`

	// Revision of the list, and where to continue it.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The reports.
	Items []ClusterReport `json:"items"`
}

var (
	_ report.Accessor = &Report{}
	_ report.Accessor = &ClusterReport{}
)
