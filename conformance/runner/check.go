// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
	"time"
)

// Check is a rule, and how to find out whether a server follows it.
type Check struct {
	// ID never changes: people skip checks by it.
	ID string `json:"id"`
	// Area is the title under which the check is listed.
	Area string `json:"area"`
	// Rule says in one sentence what servers do.
	Rule string `json:"rule"`
	// Detail says in a sentence or two what the check does and does not look at.
	Detail string `json:"detail"`
	// Reference is the address of the documentation of the rule.
	Reference string `json:"reference"`

	// PerResource checks run once for each resource, others once.
	PerResource bool `json:"perResource"`
	// Verbs are those that the resource has to have.
	Verbs []string `json:"verbs"`
	// Applies, if not nil, returns why there is nothing to check; empty if there is.
	Applies func(*Resource) string `json:"-"`
	// Isolated checks have a namespace in which nobody else makes or deletes objects of their
	// resource while they run. What they delete is more than they made if the server is wrong.
	Isolated bool `json:"isolated"`
	// Slow checks begin first: they mostly wait.
	Slow bool `json:"slow"`

	// Run returns if the server follows the rule, and otherwise ends the check, as [testing.T.Fatal] ends a
	// test: with [Response.Fail] and its like if the server breaks the rule, with [Leave] if there was nothing
	// to check, and with [Stop] if it could not be found out.
	Run func(*Probe) `json:"-"`
}

// Outcome is how a check ended.
type Outcome string

// The outcomes.
const (
	// Passed: the server follows the rule.
	Passed Outcome = "passed"
	// Failed: it doesn't.
	Failed Outcome = "failed"
	// Skipped: the check does not apply, was not wanted, or needs rights that are missing.
	Skipped Outcome = "skipped"
	// Undecided: something went wrong that the check is not about.
	Undecided Outcome = "undecided"
)

// Failure is the error of a check whose rule the server breaks.
type Failure struct { //nolint:errname // An outcome of a check; nothing went wrong in this process.
	// Expected is what the server should have done.
	Expected string `json:"expected"`
	// Found is what is wrong with what it did, if the exchange does not show it at once.
	Found string `json:"found,omitempty"`
	// Exchange is the request and its answer.
	Exchange *Exchange `json:"exchange,omitempty"`
}

// Error returns all of it in a line.
func (f *Failure) Error() string {
	text := "expected " + f.Expected
	if f.Found != "" {
		text += "; " + f.Found
	}
	if f.Exchange != nil {
		text += "; " + f.Exchange.String()
	}
	return text
}

// LeftOut is the error of a check that could not be run, without anything being wrong.
type LeftOut struct{ Reason string } //nolint:errname // As Failure.

// Error returns the reason.
func (l *LeftOut) Error() string { return l.Reason }

func leftOut(format string, args ...any) error { return &LeftOut{fmt.Sprintf(format, args...)} }

// Leave ends a check that has nothing to check.
func Leave(format string, args ...any) { Stop(leftOut(format, args...)) }

// stopped is what a check that ends early panics with.
type stopped struct{ err error }

// Stop ends a check with an error that tells its outcome. What a check defers still runs.
func Stop(err error) { panic(stopped{err}) }

// StopOn is Stop if the error is not nil.
func StopOn(err error) {
	if err != nil {
		Stop(err)
	}
}

// Must returns a value unless there is an error, which ends the check.
func Must[T any](value T, err error) T {
	StopOn(err)
	return value
}

// Try returns the error with which do ends; nil if it returns.
func Try(do func()) (err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case stopped:
			err = end.err
		default:
			panic(end)
		}
	}()
	do()
	return nil
}

// SetupError is the error of a request with which a check prepares what it looks at.
type SetupError struct {
	// Wanted is what the request was for.
	Wanted   string
	Exchange *Exchange
}

// Error returns what was answered, too.
func (e *SetupError) Error() string { return e.Wanted + ": " + e.Exchange.String() }

// outcomeOf sorts the error of a check.
func outcomeOf(err error) Outcome {
	var failure *Failure
	var left *LeftOut
	switch {
	case err == nil:
		return Passed
	case errors.As(err, &failure):
		return Failed
	case errors.As(err, &left):
		return Skipped
	default:
		return Undecided
	}
}

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
