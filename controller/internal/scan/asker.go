// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
)

// question is an evaluation that a worker wants.
type question struct {
	ctx     context.Context //nolint:containedctx // It goes to another goroutine with what it is for.
	policy  *compiled
	subject policy.Subject
}

// asker evaluates for one worker, in a goroutine of its own, so that the worker can go on without the
// answer. Its goroutine and its timer are for all questions: most take less time than to make these.
type asker struct {
	scanner   *Scanner
	questions chan question
	answers   chan policy.Evaluation
	timer     clock.Timer
}

// newAsker returns one that the caller ends.
func (s *Scanner) newAsker() *asker {
	a := &asker{scanner: s, timer: s.config.Clock.NewTimer(s.config.Patience)}
	a.stopTimer()
	a.start()
	return a
}

func (a *asker) start() {
	questions, answers := make(chan question), make(chan policy.Evaluation, 1)
	a.questions, a.answers = questions, answers
	a.scanner.aside.Go(func() {
		for q := range questions {
			answers <- a.scanner.evaluateNow(q.ctx, q.policy, q.subject)
		}
	})
}

func (a *asker) end() {
	a.timer.Stop()
	close(a.questions)
}

// ask returns the answer, or, if it takes longer than a worker waits, where it will come.
func (a *asker) ask(q question) (is policy.Evaluation, later <-chan policy.Evaluation) {
	a.questions <- q
	a.timer.Reset(a.scanner.config.Patience)
	select {
	case is = <-a.answers:
		a.stopTimer()
		return is, nil
	case <-a.timer.C():
		later = a.answers
		close(a.questions) // Its goroutine ends with this answer.
		a.start()
		return policy.Evaluation{}, later
	}
}

// stopTimer leaves nothing in the timer's channel.
func (a *asker) stopTimer() {
	if !a.timer.Stop() {
		select {
		case <-a.timer.C():
		default:
		}
	}
}
