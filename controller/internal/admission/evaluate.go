// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// parallel is the number of policies that are evaluated concurrently for one request, so that a slow one does not
// use up the time of the others.
const parallel = 4

// errLate is the error of a policy that has not answered in time, and ignores that its context is done.
var errLate = errors.New("the evaluation takes longer than the request may")

// finding has the verdicts of a policy on a request.
type finding struct {
	candidate

	verdicts []policy.Verdict
}

// evaluation is the evaluation of one request. The goroutines that evaluate share it with the one that waits.
type evaluation struct {
	request *policy.Request
	begin   time.Time
	// ended is called when no goroutine works on it any more.
	ended func()
	next  atomic.Int64
	left  atomic.Int64
	done  chan struct{}

	mu       sync.Mutex
	findings []finding
	answered []bool
	// over is set when the response is made: later verdicts are dropped.
	over bool
}

// evaluate returns the findings of policies, in their order. A policy that has not answered when late is done,
// which is a little later than ctx, has failed. It calls ended once, when every goroutine that it started has
// ended.
func evaluate(ctx, late context.Context, request *policy.Request, begin time.Time, candidates []candidate, ended func()) []finding {
	e := &evaluation{
		request: request, begin: begin, ended: ended, done: make(chan struct{}),
		findings: make([]finding, len(candidates)), answered: make([]bool, len(candidates)),
	}
	for i := range candidates {
		e.findings[i].candidate = candidates[i]
	}
	workers := min(parallel, len(candidates))
	e.left.Store(int64(workers))
	for range workers {
		go e.work(ctx)
	}
	select {
	case <-e.done:
	case <-late.Done():
	}
	return e.finish()
}

// work evaluates one policy after the other.
func (e *evaluation) work(ctx context.Context) {
	defer func() {
		if e.left.Add(-1) == 0 {
			close(e.done)
			e.ended()
		}
	}()
	for {
		i := int(e.next.Add(1)) - 1
		if i >= len(e.findings) || e.isOver() {
			return
		}
		c := &e.findings[i].candidate // Without the mutex, since it does not change.
		verdicts, err := ask(ctx, c, e.request, e.begin)
		e.set(i, verdicts, err)
	}
}

func (e *evaluation) isOver() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over
}

func (e *evaluation) set(i int, verdicts []policy.Verdict, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.over {
		e.setLocked(i, verdicts, err)
	}
}

// setLocked is called with e.mu.
func (e *evaluation) setLocked(i int, verdicts []policy.Verdict, err error) {
	f := &e.findings[i]
	e.answered[i] = true
	f.verdicts = verdicts
	if err != nil {
		f.verdicts = []policy.Verdict{failure(&f.candidate, err)}
	}
}

// finish returns the findings. Policies that have not answered by now have failed.
func (e *evaluation) finish() []finding {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for i, answered := range e.answered {
		if !answered {
			e.setLocked(i, nil, errLate)
		}
	}
	return e.findings
}

// failure returns the verdict of a policy that could not be evaluated.
func failure(c *candidate, err error) policy.Verdict {
	return policy.Verdict{
		Result: policy.Result{Outcome: report.OutcomeError, Message: err.Error()},
		Deny:   c.admission.Closed,
	}
}

// ask evaluates one policy for the request, within the time limit of the policy.
func ask(ctx context.Context, c *candidate, request *policy.Request, begin time.Time) (_ []policy.Verdict, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			klog.FromContext(ctx).Error(nil, "A policy has panicked", "policy", c.id, "cause", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("the evaluation has panicked: %v", cause)
		}
	}()
	if c.admission.Timeout > 0 {
		limited, cancel := context.WithDeadline(ctx, begin.Add(c.admission.Timeout))
		defer cancel()
		ctx = limited
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("no time is left to evaluate it: %w", context.Cause(ctx))
	}
	traced, span := policy.StartSpan(ctx, "review request", c.Policy)
	verdicts, err := c.Review(traced, request)
	policy.EndSpan(span, err)
	if err != nil {
		return nil, fmt.Errorf("the evaluation has failed: %w", err)
	}
	return verdicts, nil
}
