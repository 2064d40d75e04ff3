// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/api/report"
)

// FailureSource is the source of the result that an object has where its mapping fails.
const FailureSource = "Docket"

// Object is an object of any kind, as it is stored.
type Object interface {
	runtime.Object
	metav1.Object
	// Body returns the JSON of everything but type and metadata.
	Body() []byte
}

// Report is what a mapping makes of an object: it reads as a report does.
type Report struct {
	metav1.Object

	source  string
	scope   *report.ObjectReference
	results []report.Result
}

// GetScope returns what the whole object is about, nil for nothing.
func (r *Report) GetScope() *report.ObjectReference { return r.scope }

// GetSource returns who made the object.
func (r *Report) GetSource() string { return r.source }

// GetResults returns the results in the order of their items.
func (r *Report) GetResults() []report.Result { return r.results }

// GetSummary returns how many results there are of each sort.
func (r *Report) GetSummary() *report.Summary { return report.Count(r.results).Summary() }

// Report returns what the mapping makes of an object. Where it fails, that is one result that says why.
func (m *Mapping) Report(object Object) *Report {
	r, err := m.read(object)
	if err == nil {
		return r
	}
	failures.WithLabelValues(m.GroupResource().String()).Inc()
	return &Report{Object: object, source: FailureSource, results: []report.Result{{
		Policy: m.GroupResource().String(), Rule: "result-mapping", Result: report.OutcomeError,
		Message: fmt.Sprintf("The results of this %s can't be read: %v", m.Kind.Kind, err),
		Resources: []report.ObjectReference{{
			APIVersion: m.GroupVersion().String(), Kind: m.Kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		}},
	}}}
}

func (m *Mapping) read(object Object) (*Report, error) {
	in, err := newReader(object)
	if err != nil {
		return nil, err
	}
	made := &Report{Object: object}
	if made.source, err = in.text(m.Source); err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	var whole row
	for _, f := range m.Subject.fields("subject") {
		if err := in.fill(&whole, f); err != nil {
			return nil, err
		}
	}
	made.scope = whole.subject
	for i, b := range m.Results {
		at := fmt.Sprintf("results[%d]", i)
		items, err := in.list(b.Items)
		if err != nil {
			return nil, fmt.Errorf("%s.items: %w", at, err)
		}
		if err := bounded(len(made.results) + len(items)); err != nil {
			return nil, fmt.Errorf("%s.items: with those before, %w", at, err)
		}
		made.results = slices.Grow(made.results, len(items))
		if made.results, err = in.results(made.results, b, items); err != nil {
			return nil, fmt.Errorf("%s.%w", at, err)
		}
	}
	return made, nil
}

// results adds what a block makes of items.
func (r *reader) results(results []report.Result, b *block, items []any) ([]report.Result, error) {
	fields := b.fields
	for i, item := range items {
		r.item = item
		if i == 0 {
			var err error
			if fields, err = r.fixed(fields); err != nil {
				return nil, err
			}
		}
		var made row
		for _, f := range fields {
			if err := r.fill(&made, f); err != nil {
				return nil, fmt.Errorf("%w, at item %d", err, i)
			}
		}
		if made.subject != nil {
			made.Resources = []report.ObjectReference{*made.subject}
		}
		results = append(results, made.Result)
	}
	return results, nil
}

// fixed returns fields with constants in place of what is the same for all items.
func (r *reader) fixed(fields []field) ([]field, error) {
	all := slices.Clone(fields)
	for i, f := range all {
		if f.perItem() {
			continue
		}
		text, err := r.text(f.expression)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		all[i].expression = expression{{compiled: compiled{constant: &text}}}
	}
	return all, nil
}

// fill sets a field of a row. What gives nothing is left out, and required fields say so.
func (r *reader) fill(to *row, f field) error {
	text, err := r.text(f.expression)
	if r.bytes += len(text); err == nil && r.bytes > maxBytes {
		err = fmt.Errorf("the texts of the results have more than %d MiB; choose fewer items, or shorter texts", maxBytes>>20)
	}
	if err == nil && (text != "" || f.required) {
		err = f.set(to, text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// row is a result that is being made.
type row struct {
	report.Result

	subject *report.ObjectReference
}

func (r *row) about() *report.ObjectReference {
	if r.subject == nil {
		r.subject = &report.ObjectReference{}
	}
	return r.subject
}

func (r *row) setPolicy(text string) error {
	if text == "" {
		return fmt.Errorf("gives nothing, and each result needs a policy")
	}
	r.Policy = text
	return nil
}

// setSeverity leaves out what is no severity of reports.
func (r *row) setSeverity(text string) {
	if severity := report.Severity(strings.ToLower(text)); slices.Contains(severities, severity) {
		r.Severity = severity
	}
}

func (r *row) setResult(text string) error {
	if r.Result.Result = report.Outcome(text); !slices.Contains(outcomes, r.Result.Result) {
		return fmt.Errorf("gives %q, and must give one of pass, fail, warn, error and skip", text)
	}
	return nil
}

// Every result is compared with these.
var (
	severities = report.Severities()
	outcomes   = report.Outcomes()
)

func (r *row) setTimestamp(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("gives %q, and must give a time such as 2026-11-28T08:00:00Z", text)
	}
	r.Timestamp = &metav1.Timestamp{Seconds: at.Unix()}
	return nil
}

func (r *row) setScored(text string) error {
	if text != "true" && text != "false" {
		return fmt.Errorf("gives %q, and must give true or false", text)
	}
	scored := text == "true"
	r.Scored = &scored
	return nil
}
