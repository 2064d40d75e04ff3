// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Verdict is one result as it is compared.
type Verdict struct {
	Outcome report.Outcome `json:"outcome"`
	Message string         `json:"message,omitempty"`
}

// Words are verdicts for people, on one line.
func Words(verdicts []Verdict) string {
	if len(verdicts) == 0 {
		return "no result"
	}
	texts := make([]string, len(verdicts))
	for i, verdict := range verdicts {
		texts[i] = string(verdict.Outcome)
		if message := oneLine(verdict.Message); message != "" {
			texts[i] += " (" + message + ")"
		}
	}
	return strings.Join(texts, " and ")
}

// Change says how the problems of one rule for one resource differ from those before. Problems are failures, warnings
// and errors. One of the lists is empty if there are none.
type Change struct {
	// Finding has what both have in common, and the place of the resource if it has problems now.
	Finding
	Before, After []Verdict
}

// Difference is what has changed between the results of a server and those of a scan, by resource, policy and rule.
type Difference struct {
	// New are problems where there were none, Fixed none where there were some, Changed others than before.
	New, Fixed, Changed []Change
	// Unchanged counts rules and resources whose problems are as before.
	Unchanged int
}

// resource identifies a resource, whatever the version of its kind.
type resource struct{ group, kind, namespace, name string }

func resourceOf(subject policy.Reference) resource {
	group := schema.FromAPIVersionAndKind(subject.APIVersion, subject.Kind).Group
	return resource{group, subject.Kind, subject.Namespace, subject.Name}
}

// Compare compares what a server had before with the findings, for the policies that are in reports, and for the
// resources that has returns true for. What else the server has is not part of the difference.
func Compare(before []Finding, after *Findings, policies []policy.Policy, has func(policy.Reference) bool) Difference {
	type key struct {
		policy   policy.Identity
		rule     string
		resource resource
	}
	changes := map[key]*Change{}
	at := func(finding Finding) *Change {
		k := key{finding.Policy, finding.Rule, resourceOf(finding.Subject)}
		if changes[k] == nil {
			changes[k] = &Change{Finding: finding}
		}
		return changes[k]
	}
	compared := make(map[policy.Identity]bool, len(policies))
	for _, p := range policies {
		compared[p.Identity()] = p.Reported()
	}
	for _, finding := range after.Kept() {
		if finding.isProblem() && compared[finding.Policy] {
			change := at(finding)
			change.After = append(change.After, Verdict{finding.Outcome, finding.Message})
		}
	}
	for _, finding := range before {
		if finding.isProblem() && compared[finding.Policy] && has(finding.Subject) {
			change := at(finding)
			change.Before = append(change.Before, Verdict{finding.Outcome, finding.Message})
		}
	}
	var d Difference
	for _, change := range changes {
		d.add(*change)
	}
	for _, list := range [][]Change{d.New, d.Fixed, d.Changed} {
		slices.SortFunc(list, compareChanges)
	}
	return d
}

func (d *Difference) add(change Change) {
	for _, list := range [][]Verdict{change.Before, change.After} {
		slices.SortFunc(list, func(a, b Verdict) int {
			return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Message, b.Message))
		})
	}
	switch {
	case len(change.Before) == 0:
		d.New = append(d.New, change)
	case len(change.After) == 0:
		d.Fixed = append(d.Fixed, change)
	case slices.Equal(change.Before, change.After):
		d.Unchanged++
	default:
		d.Changed = append(d.Changed, change)
	}
}

func compareChanges(a, b Change) int {
	return cmp.Or(compareSubjects(a.Subject, b.Subject), compareIdentities(a.Policy, b.Policy), cmp.Compare(a.Rule, b.Rule))
}

// Added returns how many results of an outcome there are more than before, for policies that have at least the given
// severity. What is fixed elsewhere does not count against it.
func (d Difference) Added(outcome report.Outcome, least report.Severity) int64 {
	var added int64
	for _, change := range slices.Concat(d.New, d.Changed) {
		if atLeast(change.Severity, least) {
			added += max(0, number(change.After, outcome)-number(change.Before, outcome))
		}
	}
	return added
}

func number(verdicts []Verdict, outcome report.Outcome) int64 {
	var n int64
	for _, verdict := range verdicts {
		if verdict.Outcome == outcome {
			n++
		}
	}
	return n
}

// Summary is one line with the numbers.
func (d Difference) Summary() string {
	return fmt.Sprintf("compared with the reports: %d new, %d fixed, %d changed, %d as before", len(d.New), len(d.Fixed), len(d.Changed), d.Unchanged)
}
