// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/docket-project/docket/controller/internal/files/convert"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/policy"
)

// State is the outcome of a rule.
type State string

// The states of rules.
const (
	// Equal: the results are equal for all resources.
	Equal State = "equal"
	// Differs: they are not.
	Differs State = "differs"
	// Unproven: no resource that was evaluated has a result.
	Unproven State = "unproven"
	// NotConverted: there is no new policy.
	NotConverted State = "not converted"
)

// Report is the proof for people and programs.
type Report struct {
	Rules []RuleReport `json:"rules"`
	// Exceptions that were not converted, and why.
	Exceptions []ExceptionReport `json:"exceptions,omitempty"`
}

// RuleReport is about a rule; Rule is empty for a policy of which nothing was converted.
type RuleReport struct {
	Policy string `json:"policy"`
	Rule   string `json:"rule,omitempty"`
	State  State  `json:"state"`
	// New is the new policy.
	New string `json:"newPolicy,omitempty"`
	// Equal counts the resources with equal results, Skipped those of them that the rule skips.
	Equal   int `json:"equal"`
	Skipped int `json:"skipped"`
	// Reason says why it was not converted.
	Reason      string             `json:"reason,omitempty"`
	Notes       []string           `json:"notes,omitempty"`
	Differences []DifferenceReport `json:"differences,omitempty"`
}

// DifferenceReport is a resource with other results.
type DifferenceReport struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Variant says what was changed in the resource; empty if nothing was.
	Variant string    `json:"variant,omitempty"`
	Old     []Verdict `json:"old"`
	New     []Verdict `json:"new"`

	text string
}

// ExceptionReport is about an exception; Reason is empty if it was converted.
type ExceptionReport struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
}

// NewReport combines the results of the conversion and of the comparison; comparisons is nil if nothing was compared.
func NewReport(results []convert.Result, comparisons map[policy.Identity][]Comparison, variants bool) Report {
	var out Report
	for _, result := range results {
		if result.Err != nil {
			out.Rules = append(out.Rules, RuleReport{Policy: result.Old.String(), State: NotConverted, Reason: filescan.OneLine(result.Err.Error())})
			continue
		}
		for _, rule := range result.Rules {
			out.Rules = append(out.Rules, reportOf(result, rule, comparisons[result.Old], variants))
		}
	}
	slices.SortStableFunc(out.Rules, func(a, b RuleReport) int { return cmp.Compare(a.Policy, b.Policy) })
	return out
}

func reportOf(result convert.Result, rule convert.Rule, comparisons []Comparison, variants bool) RuleReport {
	out := RuleReport{Policy: result.Old.String(), Rule: rule.Name, State: NotConverted, Notes: rule.Notes}
	if rule.Policy == nil {
		out.Reason = filescan.OneLine(rule.Err.Error())
		return out
	}
	out.New, out.State = IdentityOf(rule.Policy).String(), Unproven
	at := slices.IndexFunc(comparisons, func(c Comparison) bool { return c.Rule == rule.Name })
	if at < 0 {
		return out
	}
	c := comparisons[at]
	out.Equal, out.Skipped = c.Equal, c.Skipped
	switch {
	case len(c.Differences) > 0:
		out.State = Differs
	case c.Equal > 0:
		out.State = Equal
	}
	for _, d := range c.Differences {
		one := DifferenceReport{APIVersion: d.Resource.APIVersion, Kind: d.Resource.Kind, Namespace: d.Resource.Namespace, Name: d.Resource.Name, Old: d.Old, New: d.New}
		if variants {
			one.Variant = string(d.Resource.UID)
		} else {
			d.Resource.UID = ""
		}
		one.text = filescan.OneLine(d.String())
		out.Differences = append(out.Differences, one)
	}
	return out
}

// Count returns the number of rules in a state.
func (r Report) Count(state State) int {
	n := 0
	for _, rule := range r.Rules {
		if rule.State == state {
			n++
		}
	}
	return n
}

// Failed returns the number of exceptions that were not converted.
func (r Report) Failed() int {
	n := 0
	for _, exception := range r.Exceptions {
		if exception.Reason != "" {
			n++
		}
	}
	return n
}

// Summary is one line.
func (r Report) Summary() string {
	text := fmt.Sprintf("%d rules: %d equal, %d differ, %d unproven, %d not converted",
		len(r.Rules), r.Count(Equal), r.Count(Differs), r.Count(Unproven), r.Count(NotConverted))
	if n := r.Failed(); n > 0 {
		text += fmt.Sprintf("; %d of %d exceptions not converted", n, len(r.Exceptions))
	}
	return text
}

// shownDifferences is how many differences of a rule a table has.
const shownDifferences = 10

// PrintTable writes the report for people.
func (r Report) PrintTable(w io.Writer) error {
	// Flush returns the first error of the writer.
	out := bufio.NewWriter(w)
	for _, rule := range r.Rules {
		name := rule.Policy
		if rule.Rule != "" {
			name += " " + rule.Rule
		}
		switch rule.State {
		case NotConverted:
			fmt.Fprintf(out, "%s: not converted\n  %s\n", filescan.OneLine(name), rule.Reason)
			continue
		case Unproven:
			fmt.Fprintf(out, "%s → %s: unproven, no resource has a result\n", filescan.OneLine(name), rule.New)
		case Differs:
			fmt.Fprintf(out, "%s → %s: differs for %d resources, equal for %d\n", filescan.OneLine(name), rule.New, len(rule.Differences), rule.Equal)
		default:
			fmt.Fprintf(out, "%s → %s: equal for %d resources (%d skipped)\n", filescan.OneLine(name), rule.New, rule.Equal, rule.Skipped)
		}
		for i, difference := range rule.Differences {
			if i == shownDifferences {
				fmt.Fprintf(out, "  … and %d more; --proof json has all\n", len(rule.Differences)-i)
				break
			}
			fmt.Fprintf(out, "  %s\n", difference.text)
		}
		for _, note := range rule.Notes {
			fmt.Fprintf(out, "  note: %s\n", filescan.OneLine(note))
		}
	}
	for _, exception := range r.Exceptions {
		if exception.Reason != "" {
			fmt.Fprintf(out, "PolicyException/%s: not converted\n  %s\n", exception.Name, exception.Reason)
		}
	}
	return out.Flush()
}

// PrintJSON writes the report for programs.
func (r Report) PrintJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
