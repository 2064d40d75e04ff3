// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
)

// evaluationRequest asks for the evaluation of a policy for a subject.
type evaluationRequest struct {
	ctx     context.Context //nolint:containedctx // It is passed to the goroutine that evaluates.
	policy  *compiled
	subject policy.Subject
}

// evaluator evaluates policies for one worker, in a goroutine of its own, so that the worker need not wait
// for a slow one. The goroutine and the timer are reused: most evaluations take less time than making them.
type evaluator struct {
	scanner     *Scanner
	requests    chan evaluationRequest
	evaluations chan policy.Evaluation
	timer       clock.Timer
}

// newEvaluator returns an evaluator. The caller must call its method end.
func (s *Scanner) newEvaluator() *evaluator {
	ev := &evaluator{scanner: s, timer: s.config.Clock.NewTimer(s.config.Patience)}
	ev.stopTimer()
	ev.start()
	return ev
}

func (ev *evaluator) start() {
	requests, evaluations := make(chan evaluationRequest), make(chan policy.Evaluation, 1)
	ev.requests, ev.evaluations = requests, evaluations
	ev.scanner.slowLane.Go(func() {
		for q := range requests {
			evaluations <- ev.scanner.evaluateNow(q.ctx, q.policy, q.subject)
		}
	})
}

func (ev *evaluator) end() {
	ev.timer.Stop()
	close(ev.requests)
}

// evaluate returns the evaluation, or, if that takes longer than [Config.Patience], the channel that will
// have it.
func (ev *evaluator) evaluate(q evaluationRequest) (evaluation policy.Evaluation, later <-chan policy.Evaluation) {
	ev.requests <- q
	ev.timer.Reset(ev.scanner.config.Patience)
	select {
	case evaluation = <-ev.evaluations:
		ev.stopTimer()
		return evaluation, nil
	case <-ev.timer.C():
		later = ev.evaluations
		close(ev.requests) // Its goroutine ends after this evaluation.
		ev.start()
		return policy.Evaluation{}, later
	}
}

// stopTimer stops the timer and empties its channel.
func (ev *evaluator) stopTimer() {
	if !ev.timer.Stop() {
		select {
		case <-ev.timer.C():
		default:
		}
	}
}
