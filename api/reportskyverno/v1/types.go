// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/api/report"
)

// EphemeralReportSpec is what an EphemeralReport and a ClusterEphemeralReport say.
type EphemeralReportSpec struct {
	// Object that the report is about. Required.
	Owner *metav1.OwnerReference `json:"owner"`

	// Counts of the results by outcome.
	// +optional
	Summary *report.Summary `json:"summary,omitempty"`

	// Outcomes of the checked policies.
	// +optional
	Results []report.Result `json:"results,omitzero"`
}

// scope returns the owner as a reference in the given namespace, or nil.
func (s *EphemeralReportSpec) scope(namespace string) *report.ObjectReference {
	if s.Owner == nil {
		return nil
	}
	return &report.ObjectReference{
		APIVersion: s.Owner.APIVersion,
		Kind:       s.Owner.Kind,
		Namespace:  namespace,
		Name:       s.Owner.Name,
		UID:        s.Owner.UID,
	}
}

// ReportBody is what an EphemeralReport and a ClusterEphemeralReport say.
type ReportBody struct {
	// Owner and results of the report. Required.
	Spec EphemeralReportSpec `json:"spec"`
}

// GetSource implements [report.Accessor].
func (b *ReportBody) GetSource() string { return report.CommonSource(b.Spec.Results) }

// GetResults implements [report.Accessor].
func (b *ReportBody) GetResults() []report.Result { return b.Spec.Results }

// GetSummary implements [report.Accessor].
func (b *ReportBody) GetSummary() *report.Summary { return b.Spec.Summary }

// GetContent implements [report.Accessor].
func (b *ReportBody) GetContent() any { return b }

// GetOwner returns the object that the report is about; nil in an invalid report.
func (b *ReportBody) GetOwner() *metav1.OwnerReference { return b.Spec.Owner }

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralReport is the outcome of one scan or request for a namespaced object.
type EphemeralReport struct {
	metav1.TypeMeta `json:",inline"`

	// Name, namespace, labels and whatever else any object has.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	ReportBody `json:",inline"`
}

// GetScope implements [report.Accessor].
func (r *EphemeralReport) GetScope() *report.ObjectReference { return r.Spec.scope(r.Namespace) }

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralReportList is a list of EphemeralReports.
type EphemeralReportList struct {
	metav1.TypeMeta `json:",inline"`

	// Revision of the list, and where to continue it.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The reports.
	Items []EphemeralReport `json:"items"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterEphemeralReport is the outcome of one scan or request for a
// cluster-scoped object.
type ClusterEphemeralReport struct {
	metav1.TypeMeta `json:",inline"`

	// Name, namespace, labels and whatever else any object has.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	ReportBody `json:",inline"`
}

// GetScope implements [report.Accessor].
func (r *ClusterEphemeralReport) GetScope() *report.ObjectReference { return r.Spec.scope("") }

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterEphemeralReportList is a list of ClusterEphemeralReports.
type ClusterEphemeralReportList struct {
	metav1.TypeMeta `json:",inline"`

	// Revision of the list, and where to continue it.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The reports.
	Items []ClusterEphemeralReport `json:"items"`
}

var (
	_ report.Accessor = &EphemeralReport{}
	_ report.Accessor = &ClusterEphemeralReport{}
)
