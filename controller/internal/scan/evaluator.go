// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
)

// evaluationRequest is an evaluation that a worker wants.
type evaluationRequest struct {
	ctx     context.Context //nolint:containedctx // It goes to another goroutine with what it is for.
	policy  *compiled
	subject policy.Subject
}

// evaluator evaluates for one worker, in a goroutine of its own, so that the worker can go on without the
// answer. Its goroutine and its timer are for all questions: most take less time than to make these.
type evaluator struct {
	scanner     *Scanner
	requests    chan evaluationRequest
	evaluations chan policy.Evaluation
	timer       clock.Timer
}

// newEvaluator returns one that the caller ends.
func (s *Scanner) newEvaluator() *evaluator {
	ev := &evaluator{scanner: s, timer: s.config.Clock.NewTimer(s.config.Patience)}
	ev.stopTimer()
	ev.start()
	return ev
}

func (ev *evaluator) start() {
	requests, evaluations := make(chan evaluationRequest), make(chan policy.Evaluation, 1)
	ev.requests, ev.evaluations = requests, evaluations
	ev.scanner.aside.Go(func() {
		for q := range requests {
			evaluations <- ev.scanner.evaluateNow(q.ctx, q.policy, q.subject)
		}
	})
}

func (ev *evaluator) end() {
	ev.timer.Stop()
	close(ev.requests)
}

// evaluate returns the answer, or, if it takes longer than a worker waits, where it will come.
func (ev *evaluator) evaluate(q evaluationRequest) (evaluation policy.Evaluation, later <-chan policy.Evaluation) {
	ev.requests <- q
	ev.timer.Reset(ev.scanner.config.Patience)
	select {
	case evaluation = <-ev.evaluations:
		ev.stopTimer()
		return evaluation, nil
	case <-ev.timer.C():
		later = ev.evaluations
		close(ev.requests) // Its goroutine ends with this answer.
		ev.start()
		return policy.Evaluation{}, later
	}
}

// stopTimer leaves nothing in the timer's channel.
func (ev *evaluator) stopTimer() {
	if !ev.timer.Stop() {
		select {
		case <-ev.timer.C():
		default:
		}
	}
}
