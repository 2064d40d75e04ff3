// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Accessor reads a report of any kind. What it returns belongs to the report:
// callers must not change it. It is as safe for concurrent use as the report is.
type Accessor interface {
	runtime.Object
	metav1.Object

	// GetScope returns the object that the whole report is about, or nil. For
	// ephemeral reports it is derived from the owner.
	GetScope() *ObjectReference

	// GetSource returns the engine that produced the report: the report's own
	// source if it states one, otherwise the source that all its results share.
	// It is empty if there is none or several.
	GetSource() string

	// GetResults returns the results in the order in which they were written.
	GetResults() []Result

	// GetSummary returns the counts as they were written, or nil. They are not
	// recomputed from the results.
	GetSummary() *Summary

	// GetContent returns a pointer to everything but type and metadata, so that
	// two reports of one kind can be compared.
	GetContent() any
}

// GetSource returns the engine that produced this result, or the empty string.
func (r *Result) GetSource() string {
	if r.Source == nil {
		return ""
	}
	return *r.Source
}

// CommonSource returns the source that all results share. It is empty if there
// are no results, or if they name different sources or none.
func CommonSource(results []Result) string {
	if len(results) == 0 {
		return ""
	}
	source := results[0].GetSource()
	for i := range results[1:] {
		if results[1+i].GetSource() != source {
			return ""
		}
	}
	return source
}
