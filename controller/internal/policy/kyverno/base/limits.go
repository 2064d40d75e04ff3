// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/bounds"
)

// maxAbandoned is how many evaluations a policy may leave behind. A few tell a bad subject from a
// bad policy, and leave processors to others.
const maxAbandoned = 4

var errBusy = errors.New("earlier evaluations of this policy have not ended: it takes too long for some resources")

// Evaluation is work in steps, of which each may fail for itself.
type Evaluation interface {
	Steps() int
	// Step is called in order, by one goroutine.
	Step(ctx context.Context, i int) ([]policy.Result, error)
	// Fail returns the results of a step that did not end. It may run beside a step.
	Fail(i int, cause error) []policy.Result
	// Forget is called after a step that panicked, before the next one.
	Forget()
}

// OneStep is a [NamedEvaluation] of one step, whose results belong to no rule.
type OneStep func(ctx context.Context) ([]policy.Result, error)

// Steps implements [Evaluation].
func (OneStep) Steps() int { return 1 }

// Name implements [NamedEvaluation].
func (OneStep) Name(int) string { return "" }

// Step implements [Evaluation].
func (s OneStep) Step(ctx context.Context, _ int) ([]policy.Result, error) { return s(ctx) }

// Fail implements [Evaluation].
func (OneStep) Fail(_ int, cause error) []policy.Result {
	return []policy.Result{ErrorResult("", cause)}
}

// Forget implements [Evaluation].
func (OneStep) Forget() {}

// Limits keep a policy from doing harm. The zero counters are right.
type Limits struct {
	Timeout time.Duration
	// Runners have the goroutines; nil for new ones.
	Runners *Runners
	// Answers are what all evaluations of the process may read; nil for no limit but that of each answer.
	Answers   *bounds.Budget
	abandoned atomic.Int32
	// undecided counts the goroutines that still look for what rules are about.
	undecided atomic.Int32
}

// Run returns the results of all steps. The steps that don't end in time, or panic, fail.
func (l *Limits) Run(ctx context.Context, work Evaluation) ([]policy.Result, error) {
	return l.runFor(ctx, l.Timeout, work)
}

// runFor is run with another limit.
func (l *Limits) runFor(ctx context.Context, timeout time.Duration, work Evaluation) ([]policy.Result, error) {
	if l.abandoned.Load() >= maxAbandoned {
		return FailFrom(work, 0, nil, errBusy), nil
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	end := cancel
	if l.Answers != nil {
		var account *bounds.Account
		limited, account = l.Answers.Open(limited)
		end = func() { cancel(); account.Close() }
	}
	p := &progress{done: make(chan struct{})}
	l.Runners.run(func() { l.follow(limited, end, work, p) })
	select {
	case <-p.done:
		// What was evaluated with a canceled context may be wrong.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return p.results, nil
	case <-limited.Done():
	}
	finished, results, ended := p.abandon(&l.abandoned)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if ended {
		return results, nil
	}
	return FailFrom(work, finished, results, fmt.Errorf("the evaluation takes longer than %s", timeout)), nil
}

// FailFrom appends the failures of all steps from the first one on.
func FailFrom(work Evaluation, first int, results []policy.Result, cause error) []policy.Result {
	for i := first; i < work.Steps(); i++ {
		results = append(results, work.Fail(i, cause)...)
	}
	return results
}

// progress is shared by those who evaluate and those who wait.
type progress struct {
	done chan struct{}

	lock      sync.Mutex
	finished  int
	results   []policy.Result
	abandoned *atomic.Int32
}

// follow runs the steps and ends early once nobody waits.
func (l *Limits) follow(ctx context.Context, end func(), work Evaluation, p *progress) {
	defer end()
	defer p.end()
	for i := range work.Steps() {
		var results []policy.Result
		err := Protect(func() error {
			var err error
			results, err = work.Step(ctx, i)
			return err
		})
		if err != nil {
			work.Forget()
			results = work.Fail(i, err)
		}
		if !p.add(results) {
			return
		}
	}
}

// add keeps the results of a step; false if nobody waits for more.
func (p *progress) add(results []policy.Result) bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.abandoned != nil {
		return false
	}
	p.finished++
	p.results = append(p.results, results...)
	return true
}

// abandon returns what there is. Unless all has ended, counter has one more until it does.
func (p *progress) abandon(counter *atomic.Int32) (finished int, results []policy.Result, ended bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	select {
	case <-p.done:
		return p.finished, p.results, true
	default:
	}
	counter.Add(1)
	p.abandoned = counter
	return p.finished, p.results, false
}

func (p *progress) end() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.abandoned != nil {
		p.abandoned.Add(-1)
	}
	close(p.done)
}

// Protect turns a panic into an error.
func Protect(work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the policy engine has panicked: %v", cause)
		}
	}()
	return work()
}
