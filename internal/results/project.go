// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"errors"
	"fmt"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	ephemeral "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store/engine"
)

// Projector returns a function that returns the rows of reports, as [Project], and of objects of other kinds by their
// mappings. Objects of kinds without one have no rows. The function never fails because of a mapping: what fails is a
// row.
func Projector(mappings *mapping.Set) func(runtime.Object) (*engine.Projection, error) {
	return func(obj runtime.Object) (*engine.Projection, error) {
		other, ok := obj.(mapping.Object)
		if !ok {
			return Project(obj)
		}
		kind := obj.GetObjectKind().GroupVersionKind()
		switch kind.Group {
		case wgpolicy.GroupName, openreports.GroupName, ephemeral.GroupName, "":
			return Project(obj)
		}
		m := mappings.Of(kind.GroupKind())
		if m == nil {
			return nil, nil // No rows is an answer.
		}
		return project(m.Report(other), kind.Kind, false)
	}
}

// Project returns the rows of a report, and nil without an error for kinds that
// have none: ephemeral reports are merged into others, so that their results
// would count twice. Anything but a report is an error.
//
// The projection shares no memory with obj that obj's owner could change:
// strings only. Within a projection equal verdicts and equal subjects are the
// same pointer, so that a caller may remember their IDs by pointer.
func Project(obj runtime.Object) (*engine.Projection, error) {
	if document, ok := obj.(viewer); ok {
		view, err := document.View()
		if err != nil {
			return nil, fmt.Errorf("project result rows: %w", err)
		}
		obj = view
	}
	switch r := obj.(type) {
	case *wgpolicy.PolicyReport:
		return project(r, "PolicyReport", r == nil)
	case *wgpolicy.ClusterPolicyReport:
		return project(r, "ClusterPolicyReport", r == nil)
	case *openreports.Report:
		return project(r, "Report", r == nil)
	case *openreports.ClusterReport:
		return project(r, "ClusterReport", r == nil)
	case *ephemeral.EphemeralReport, *ephemeral.ClusterEphemeralReport:
		return nil, nil // No rows is an answer.
	}
	return nil, fmt.Errorf("project result rows: %T is not a report", obj)
}

// HasRows reports whether reports of a kind have rows.
func HasRows(kind string) bool {
	switch kind {
	case "PolicyReport", "ClusterPolicyReport", "Report", "ClusterReport":
		return true
	}
	return false
}

// viewer is a report that can be read as the Go type of its kind.
type viewer interface {
	View() (report.Accessor, error)
}

// results is what rows are made of.
type results interface {
	metav1.Object

	GetScope() *report.ObjectReference
	GetSource() string
	GetResults() []report.Result
	GetSummary() *report.Summary
}

func project(r results, kind string, missing bool) (*engine.Projection, error) {
	if missing {
		return nil, errors.New("project result rows: the report is nil")
	}
	counts := r.GetSummary().Counts()
	created := r.GetCreationTimestamp()
	p := &engine.Projection{
		Namespace: text(r.GetNamespace()),
		Name:      text(r.GetName()),
		UID:       text(string(r.GetUID())),
		Kind:      kind,
		Source:    text(r.GetSource()),
		Pass:      count(counts.Pass),
		Fail:      count(counts.Fail),
		Warn:      count(counts.Warn),
		Error:     count(counts.Error),
		Skip:      count(counts.Skip),
	}
	if !created.IsZero() {
		p.CreatedAt = seconds(created.Unix())
	}
	entries := r.GetResults()
	if len(entries) > math.MaxInt32 {
		return nil, fmt.Errorf("project result rows of %s %s/%s: %d results are too many", kind, p.Namespace, p.Name, len(entries))
	}
	intern := newInterner(len(entries))
	p.Scope = intern.subject(r.GetScope())
	p.Results = make([]engine.Result, 0, len(entries))
	about := namesOf(p.Scope)
	for i := range entries {
		p.Results = appendRows(p.Results, p.Source, intern, about, int32(i), &entries[i])
	}
	p.SetOrdinals()
	return p, nil
}

// appendRows adds the rows of one entry: one for each resource that it names, or
// one about the report's scope, for which about has the names.
func appendRows(
	rows []engine.Result, reportSource string, intern *interner, about names, index int32, entry *report.Result,
) []engine.Result {
	row := engine.Result{Index: index}
	if entry.Timestamp != nil {
		row.Seconds = seconds(entry.Timestamp.Seconds)
	}
	first := len(rows)
	for i := range entry.Resources {
		row.Subject = intern.subject(&entry.Resources[i])
		if row.Subject != nil {
			rows = append(rows, row)
		}
	}
	switch named := rows[first:]; len(named) {
	case 0:
		row.Subject = nil
		rows = append(rows, row)
	case 1:
		about = namesOf(named[0].Subject)
	default:
		about = nil
	}
	verdict := intern.verdict(entry, reportSource, about)
	for i := first; i < len(rows); i++ {
		rows[i].Verdict = verdict
	}
	return rows
}
