// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Outcome says how the check of one rule ended.
// +enum
type Outcome string

const (
	// OutcomePass means that the subject meets the rule.
	OutcomePass Outcome = "pass"
	// OutcomeFail means that the subject breaks the rule.
	OutcomeFail Outcome = "fail"
	// OutcomeWarn means that the subject breaks a rule that is not scored.
	OutcomeWarn Outcome = "warn"
	// OutcomeError means that the rule could not be checked.
	OutcomeError Outcome = "error"
	// OutcomeSkip means that the rule did not apply or was switched off.
	OutcomeSkip Outcome = "skip"
)

// Outcomes lists every valid [Outcome] in the order of the published schema.
func Outcomes() []Outcome {
	return []Outcome{OutcomePass, OutcomeFail, OutcomeWarn, OutcomeError, OutcomeSkip}
}

// Severity says how much a finding matters.
// +enum
type Severity string

const (
	// SeverityCritical is the highest severity.
	SeverityCritical Severity = "critical"
	// SeverityHigh comes below critical.
	SeverityHigh Severity = "high"
	// SeverityLow comes below medium.
	SeverityLow Severity = "low"
	// SeverityMedium comes below high.
	SeverityMedium Severity = "medium"
	// SeverityInfo marks a finding that needs no action.
	SeverityInfo Severity = "info"
)

// Severities lists every valid [Severity] in the order of the published schema.
func Severities() []Severity {
	return []Severity{SeverityCritical, SeverityHigh, SeverityLow, SeverityMedium, SeverityInfo}
}

// Summary counts results by outcome. A count that is left out means zero.
type Summary struct {
	// Number of rules that the subject meets.
	// +optional
	Pass *int64 `json:"pass,omitempty"`

	// Number of rules that the subject breaks.
	// +optional
	Fail *int64 `json:"fail,omitempty"`

	// Number of broken rules that are not scored.
	// +optional
	Warn *int64 `json:"warn,omitempty"`

	// Number of rules that could not be checked.
	// +optional
	Error *int64 `json:"error,omitempty"`

	// Number of rules that did not apply.
	// +optional
	Skip *int64 `json:"skip,omitempty"`
}

// ObjectReference points to a Kubernetes object.
// +structType=atomic
type ObjectReference struct {
	// Kind of the object, such as Pod.
	// +optional
	Kind string `json:"kind,omitempty"`

	// Namespace of the object; empty for cluster-scoped objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	// +optional
	Name string `json:"name,omitempty"`

	// Unique id of the object, which tells it from others that had the same name.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// API group and version of the object, such as apps/v1.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Version of the object at the time of the check.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// Path of the part that is meant, if it is not the whole object, such as
	// spec.containers[0].
	// +optional
	FieldPath string `json:"fieldPath,omitempty"`
}

// Result is the outcome of one rule of one policy.
type Result struct {
	// Engine or scanner that produced this result.
	// +optional
	Source *string `json:"source,omitempty"`

	// Policy that was checked. Required.
	Policy string `json:"policy"`

	// Rule of the policy that was checked.
	// +optional
	Rule string `json:"rule,omitempty"`

	// Category that the policy belongs to.
	// +optional
	Category string `json:"category,omitempty"`

	// How much the finding matters.
	// +optional
	Severity Severity `json:"severity,omitempty"`

	// When the result was found.
	// +optional
	Timestamp *metav1.Timestamp `json:"timestamp,omitempty"`

	// How the check ended.
	// +optional
	Result Outcome `json:"result,omitempty"`

	// Whether this result counts towards a score.
	// +optional
	Scored *bool `json:"scored,omitempty"`

	// Objects that were checked. If neither resources nor resourceSelector is
	// given, the result is about the scope of the report.
	// +optional
	Resources []ObjectReference `json:"resources,omitzero"`

	// Labels of the objects that were checked, where one result covers many.
	// +optional
	ResourceSelector *metav1.LabelSelector `json:"resourceSelector,omitempty"`

	// Text for people about this result.
	// +optional
	Message string `json:"message,omitempty"`

	// Further facts from the source, by name.
	// +optional
	Properties map[string]string `json:"properties,omitzero"`
}
