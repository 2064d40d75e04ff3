// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// Selection says which results are meant: those that have one of the texts of each list. Empty ones choose all.
type Selection struct {
	Results, Severities, Sources, Policies, Categories []string
	// Rule, and Subject as KIND, KIND/NAME or NAME.
	Rule, Subject string
}

// labels returns the selector of labels for the parts of which there may be several.
func (s Selection) labels() string {
	var parts []string
	for _, part := range []struct {
		label string
		texts []string
	}{
		{v1alpha1.LabelResult, s.Results},
		{v1alpha1.LabelSeverity, s.Severities},
		{v1alpha1.LabelSource, s.Sources},
		{v1alpha1.LabelPolicy, s.Policies},
		{v1alpha1.LabelCategory, s.Categories},
	} {
		if len(part.texts) == 0 {
			continue
		}
		if part.texts[0] == "" { // One of the lists of WorstFirst: results without it.
			parts = append(parts, "!"+part.label)
			continue
		}
		var values []string
		for _, text := range part.texts {
			values = append(values, v1alpha1.LabelValue(text))
		}
		parts = append(parts, fmt.Sprintf("%s in (%s)", part.label, strings.Join(values, ",")))
	}
	return strings.Join(parts, ",")
}

// fields returns the selector of fields for the others, always in the same order.
func (s Selection) fields() string {
	kind, name := subjectOf(s.Subject)
	var terms []fields.Selector
	for _, term := range []struct{ field, text string }{{"rule", s.Rule}, {"subject.kind", kind}, {"subject.name", name}} {
		if term.text != "" {
			terms = append(terms, fields.OneTermEqualSelector(term.field, term.text))
		}
	}
	return fields.AndSelectors(terms...).String()
}

// subjectOf takes a subject apart. A word with a capital is a kind, and another one a name: names have none.
func subjectOf(text string) (kind, name string) {
	kind, name, both := strings.Cut(text, "/")
	if !both && strings.ToLower(text) == text {
		return "", text
	}
	return kind, name
}

// What results can be, and how bad; the worst first.
var (
	resultNames   = []string{"fail", "error", "warn", "pass", "skip"}
	severityNames = []string{"critical", "high", "medium", "low", "info"}
)

// ResultNames returns what results can be, the worst first.
func ResultNames() []string { return slices.Clone(resultNames) }

// SeverityNames returns the severities, the worst first.
func SeverityNames() []string { return slices.Clone(severityNames) }

// Problems are the results that somebody has to look at.
func Problems() []string { return []string{"fail", "error", "warn"} }

// Check returns an error that names the flag for what can't be chosen.
func (s Selection) Check() error {
	for _, part := range []struct {
		flag         string
		texts, known []string
	}{{"result", s.Results, resultNames}, {"severity", s.Severities, severityNames}} {
		for _, text := range part.texts {
			if !slices.Contains(part.known, text) {
				return fmt.Errorf("--%s: %q is not known: choose from %s", part.flag, text, strings.Join(part.known, ", "))
			}
		}
	}
	return nil
}

// rankIn returns the place of a name among others, and the last one for what is not among them.
func rankIn(names []string, name string) int {
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names)
}
