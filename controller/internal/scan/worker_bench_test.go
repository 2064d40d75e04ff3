// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
)

// BenchmarkWorker measures the cost of not waiting for slow policies: an evaluation that takes no time, by the
// caller and by another goroutine.
func BenchmarkWorker(b *testing.B) {
	e := &evaluator{config: &Config{Clock: clock.RealClock{}, EvaluationLimit: defaultLimit, Patience: defaultPatience}}
	c := &compiled{policy: unitNamed("p", false)}
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			e.evaluateNow(b.Context(), c, policy.Subject{})
		}
	})
	b.Run("worker", func(b *testing.B) {
		w := e.newWorker()
		defer w.end()
		for b.Loop() {
			w.ask(evaluationRequest{ctx: b.Context(), policy: c})
		}
	})
}
