// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MisstatedReport is a report of a namespace whose summary states another number of some outcome than the report has results with.
// There is one only as long as that is so.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MisstatedReport struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has a name that is made of the kind and the name of the report, and the report as its owner.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Misstatement `json:",inline"`
}

// MisstatedReportList is a page of misstated reports.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MisstatedReportList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the page.
	Items []MisstatedReport `json:"items"`
}

// ClusterMisstatedReport is a misstated report outside of namespaces.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterMisstatedReport struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has a name that is made of the kind and the name of the report, and the report as its owner.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Misstatement `json:",inline"`
}

// ClusterMisstatedReportList is a page of misstated reports outside of namespaces.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterMisstatedReportList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items of the page.
	Items []ClusterMisstatedReport `json:"items"`
}

// Misstatement is what is wrong in the summary of a report.
type Misstatement struct {
	// Report whose summary is wrong.
	Report ReportName `json:"report"`
	// Stated is what the summary says. A report without a summary states none of any outcome.
	Stated Outcomes `json:"stated"`
	// Held is what the results of the report say, each counted once however many resources it is about.
	Held Outcomes `json:"held"`
}

// GetMisstatement returns what is wrong.
func (m *Misstatement) GetMisstatement() *Misstatement { return m }

// ReportName names a report in its namespace.
type ReportName struct {
	// Kind of the report.
	Kind string `json:"kind"`
	// Name of the report.
	Name string `json:"name"`
}

// Outcomes are numbers of results of a report by what they say.
type Outcomes struct {
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
}
