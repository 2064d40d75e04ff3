// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"time"
)

// Result is how a check ended, for one resource if it is about resources.
type Result struct {
	Check    *Check
	Resource string // empty if the check is not about one
	Outcome  Outcome
	// Reason says why a check was skipped or undecided.
	Reason string
	// Failure is set for checks that failed.
	Failure *Failure
	// Exchange is the last one of an undecided check, if there was one.
	Exchange *Exchange
	Duration time.Duration
}

// Trouble is something that kept more than one check from its work.
type Trouble struct {
	// Resource is empty if it is not about one.
	Resource string    `json:"resource,omitempty"`
	Reason   string    `json:"reason"`
	Exchange *Exchange `json:"exchange,omitempty"`
}

// Report is what a run has found.
type Report struct {
	// Server is its address.
	Server       string
	GroupVersion string
	// Resources are the names of those that were checked.
	Resources []string
	Started   time.Time
	Duration  time.Duration
	// Results are in the order of the checks, those of one check in the order of the resources.
	Results  []Result
	Troubles []Trouble
	// Interrupted tells that the run was ended from outside.
	Interrupted bool
	// Left is what could not be removed, as arguments of kubectl delete.
	Left []string
}

// Count returns how many results have an outcome.
func (r *Report) Count(outcome Outcome) int {
	count := 0
	for i := range r.Results {
		if r.Results[i].Outcome == outcome {
			count++
		}
	}
	return count
}

// Troubled reports whether the run could not find out all that it was to.
func (r *Report) Troubled() bool {
	return r.Interrupted || len(r.Troubles) > 0 || len(r.Left) > 0 || r.Count(Undecided) > 0
}

// Verdict says whether the server follows the rules, and in a sentence why that is not so or is not known.
// Broken rules come first: they are what a run is there to find.
func (r *Report) Verdict() (outcome Outcome, text string) {
	switch failed := r.Count(Failed); {
	case failed == 1:
		return Failed, "The server breaks a rule: 1 check failed."
	case failed > 1:
		return Failed, fmt.Sprintf("The server breaks rules: %d checks failed.", failed)
	case r.Troubled():
		return Undecided, "No check failed, but some were inconclusive."
	case r.Count(Passed) == 0:
		return Undecided, "Nothing was checked: all checks were skipped."
	default:
		return Passed, ""
	}
}
