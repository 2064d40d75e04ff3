// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import "github.com/docket-project/docket/api/report"

var _ report.Accessor = &Object{}

// GetScope implements report.Accessor.
func (o *Object) GetScope() *report.ObjectReference { return o.viewed().GetScope() }

// GetSource implements report.Accessor.
func (o *Object) GetSource() string { return o.Source() }

// GetSummary implements report.Accessor.
func (o *Object) GetSummary() *report.Summary { return o.viewed().GetSummary() }

// GetResults implements report.Accessor.
func (o *Object) GetResults() []report.Result { return o.viewed().GetResults() }

// GetContent implements report.Accessor.
func (o *Object) GetContent() any { return o.Body() }

// viewed returns the report as the Go type of its kind; empty if that can't hold the body.
func (o *Object) viewed() report.Accessor {
	if view, err := o.View(); err == nil {
		return view
	}
	return o.Of.NewView()
}
