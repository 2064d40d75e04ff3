// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
)

// BenchmarkWorker measures the cost of not waiting for slow policies: an evaluation that takes no time, alone and
// with all that a worker does about it.
func BenchmarkWorker(b *testing.B) {
	config := &Config{Clock: clock.RealClock{}, EvaluationLimit: defaultLimit, Patience: defaultPatience, Results: countResults{}}
	e := newEvaluator(config, newInventory(config, nil), nil)
	p := unitNamed("p", false)
	state := newPolicyState(p.Identity(), config)
	state.update(p, policy.Rules{})
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			e.evaluateNow(b.Context(), state.current, policy.Subject{})
		}
	})
	b.Run("worker", func(b *testing.B) {
		v := &visit{ctx: b.Context(), rs: &resourceState{}}
		for b.Loop() {
			e.evaluate(b.Context(), v, state.current)
		}
	})
}

// countResults only counts: what is measured is the worker.
type countResults struct{ Results }

func (countResults) Present(policy.Identity, policy.Presentation)           {}
func (countResults) Set(policy.Identity, policy.Reference, []policy.Result) {}
