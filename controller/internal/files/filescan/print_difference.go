// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/docket-project/docket/api/report"
)

// The words for changes, in the table.
const (
	wordNew     = "new"
	wordFixed   = "fixed"
	wordChanged = "changed"
)

// changeWidth is that of the longest word with its indentation.
const changeWidth = len("  " + wordChanged)

// PrintTable writes the changes by resource.
func (d Difference) PrintTable(w io.Writer, options TableOptions) error {
	type row struct {
		word string
		Change
	}
	var rows []row
	for word, list := range map[string][]Change{wordNew: d.New, wordFixed: d.Fixed, wordChanged: d.Changed} {
		for _, change := range list {
			rows = append(rows, row{word, change})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return compareChanges(a.Change, b.Change) })
	// Flush returns the first error of the writer.
	buffered := bufio.NewWriter(w)
	var last resource
	for i, one := range rows {
		if current := resourceOf(one.Subject); i == 0 || current != last {
			last = current
			_, _ = buffered.WriteString(one.heading() + "\n")
		}
		color := report.OutcomePass
		if len(one.After) > 0 {
			color = one.After[0].Outcome
		}
		word := options.colored(color, fmt.Sprintf("%-*s", changeWidth-2, one.word))
		_, _ = buffered.WriteString(options.wrap(word, changeWidth, one.ruleName()+": "+one.sentence()) + "\n")
	}
	return buffered.Flush()
}

// sentence says what was and what is.
func (c Change) sentence() string {
	switch {
	case len(c.Before) == 0:
		return Words(c.After)
	case len(c.After) == 0:
		return "was " + Words(c.Before)
	default:
		return "was " + Words(c.Before) + ", is " + Words(c.After)
	}
}

// jsonChange is a change for programs.
type jsonChange struct {
	Policy   string          `json:"policy"`
	Rule     string          `json:"rule,omitempty"`
	Severity report.Severity `json:"severity,omitempty"`
	Resource jsonResource    `json:"resource"`
	File     string          `json:"file,omitempty"`
	Line     int             `json:"line,omitempty"`
	Before   []Verdict       `json:"before"`
	After    []Verdict       `json:"after"`
}

type jsonResource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// PrintJSON writes the changes as one object with the lists new, fixed and changed, and the number unchanged.
func (d Difference) PrintJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(map[string]any{
		wordNew: jsonChanges(d.New), wordFixed: jsonChanges(d.Fixed), wordChanged: jsonChanges(d.Changed), "unchanged": d.Unchanged,
	})
}

func jsonChanges(changes []Change) []jsonChange {
	list := make([]jsonChange, 0, len(changes))
	for _, c := range changes {
		one := jsonChange{
			Policy: c.Policy.String(), Rule: c.Rule, Severity: c.Severity, File: c.Place.File,
			Resource: jsonResource{c.Subject.APIVersion, c.Subject.Kind, c.Subject.Namespace, c.Subject.Name},
			Before:   append([]Verdict{}, c.Before...), After: append([]Verdict{}, c.After...),
		}
		if one.File != "" {
			one.Line = c.Place.Line
		}
		list = append(list, one)
	}
	return list
}
