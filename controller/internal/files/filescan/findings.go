// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Finding is one result, with its policy and subject.
type Finding struct {
	Policy  policy.Identity
	Subject policy.Reference
	// Place is where the subject is defined; empty if it comes from a cluster.
	Place manifest.Place
	// Rule is empty for policies without rules.
	Rule string
	// Outcome is what reports say: a failure of a policy that is not scored is a warning.
	Outcome report.Outcome
	// Severity is the policy's; empty if it has none.
	Severity report.Severity
	Message  string
}

// Findings counts results and keeps those that are to be shown. A nil Findings does neither. It is safe for
// concurrent use.
type Findings struct {
	all bool

	mu            sync.Mutex // guards the fields below
	counts        map[policy.Identity]*report.Counts
	presentations map[policy.Identity]policy.Presentation
	kept          []Finding
	resources     int
	// namespaces are those of all subjects with results.
	namespaces map[string]bool
}

// NewFindings returns findings that keep all results, or only failures, warnings and errors.
func NewFindings(all bool) *Findings {
	return &Findings{
		all: all, counts: map[policy.Identity]*report.Counts{}, presentations: map[policy.Identity]policy.Presentation{}, namespaces: map[string]bool{},
	}
}

func (f *Findings) present(id policy.Identity, p policy.Presentation) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[id] = &report.Counts{}
	f.presentations[id] = p
}

func (f *Findings) add(id policy.Identity, subject policy.Reference, place manifest.Place, results []policy.Result) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	presentation := f.presentations[id]
	f.namespaces[subject.Namespace] = true
	for _, result := range results {
		finding := Finding{
			Policy: id, Subject: subject, Place: place, Rule: result.Rule,
			Outcome: result.Outcome, Severity: presentation.Severity, Message: result.Message,
		}
		if finding.Outcome == report.OutcomeFail && !presentation.Scored {
			finding.Outcome = report.OutcomeWarn
		}
		f.counts[id].Add(finding.Outcome)
		if f.all || finding.Outcome != report.OutcomePass && finding.Outcome != report.OutcomeSkip {
			f.kept = append(f.kept, finding)
		}
	}
}

// unreadable stands for a policy in findings about documents.
var unreadable = policy.Identity{Kind: "Document", Name: "unreadable"}

// miss keeps a document that can't be read.
func (f *Findings) miss(document *manifest.UnreadableError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts[unreadable] == nil {
		f.counts[unreadable] = &report.Counts{}
	}
	f.counts[unreadable].Error++
	place := document.Place
	place.Line = max(1, place.Line)
	f.kept = append(f.kept, Finding{
		Policy: unreadable, Subject: policy.Reference{Kind: unreadable.Kind, Name: document.Origin}, Place: place,
		Outcome: report.OutcomeError, Message: document.Cause.Error(),
	})
}

func (f *Findings) countResource() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resources++
}

// Kept returns what is to be shown, by namespace, policy, rule and resource.
func (f *Findings) Kept() []Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := slices.Clone(f.kept)
	slices.SortFunc(kept, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Subject.Namespace, b.Subject.Namespace), compareIdentities(a.Policy, b.Policy),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject.Kind, b.Subject.Kind), cmp.Compare(a.Subject.Name, b.Subject.Name),
			cmp.Compare(a.Subject.APIVersion, b.Subject.APIVersion), cmp.Compare(a.Message, b.Message))
	})
	return kept
}

// PolicyCounts are the numbers of one policy.
type PolicyCounts struct {
	Policy policy.Identity
	// Severity is the policy's; empty if it has none.
	Severity report.Severity
	Counts   report.Counts
}

// Counts returns the numbers of all policies, those without results as well, by name.
func (f *Findings) Counts() []PolicyCounts {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]PolicyCounts, 0, len(f.counts))
	for id, counts := range f.counts {
		list = append(list, PolicyCounts{Policy: id, Severity: f.presentations[id].Severity, Counts: *counts})
	}
	slices.SortFunc(list, func(a, b PolicyCounts) int { return compareIdentities(a.Policy, b.Policy) })
	return list
}

// Total returns the sum of [Findings.Counts].
func (f *Findings) Total() report.Counts {
	var total report.Counts
	for _, one := range f.Counts() {
		total.Pass += one.Counts.Pass
		total.Fail += one.Counts.Fail
		total.Warn += one.Counts.Warn
		total.Error += one.Counts.Error
		total.Skip += one.Counts.Skip
	}
	return total
}

// FailOnNone is above all severities: no failure sets the exit code.
const FailOnNone report.Severity = "none"

// severities are in ascending order. A policy without a severity counts as the lowest.
var severities = []report.Severity{
	report.SeverityInfo, report.SeverityLow, report.SeverityMedium, report.SeverityHigh, report.SeverityCritical, FailOnNone,
}

// Failures returns the number of failures of policies that have at least the given severity. A policy without one
// has the lowest, info.
func (f *Findings) Failures(least report.Severity) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var failures int64
	for id, counts := range f.counts {
		if atLeast(f.presentations[id].Severity, least) {
			failures += counts.Fail
		}
	}
	return failures
}

// atLeast compares severities; none counts as info.
func atLeast(severity, least report.Severity) bool {
	return slices.Index(severities, cmp.Or(severity, report.SeverityInfo)) >= slices.Index(severities, least)
}

// Unmatched returns the policies without a result, by name.
func (f *Findings) Unmatched() []policy.Identity {
	var ids []policy.Identity
	for _, one := range f.Counts() {
		if one.Counts == (report.Counts{}) {
			ids = append(ids, one.Policy)
		}
	}
	return ids
}

// Namespaces returns the namespaces with results, in order.
func (f *Findings) Namespaces() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := slices.Sorted(maps.Keys(f.namespaces))
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Resources returns how many resources were evaluated.
func (f *Findings) Resources() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resources
}

func compareIdentities(a, b policy.Identity) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind))
}

// compareSubjects orders resources by namespace, kind and name.
func compareSubjects(a, b policy.Reference) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
}

func isIncomplete(err error) bool {
	var incomplete *IncompleteError
	return errors.As(err, &incomplete)
}
