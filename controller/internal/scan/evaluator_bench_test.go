// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
)

// BenchmarkEvaluator measures the cost of not waiting for slow policies: an evaluation that takes no time, by the
// caller and by another goroutine.
func BenchmarkEvaluator(b *testing.B) {
	s := &Scanner{config: Config{Clock: clock.RealClock{}, EvaluationLimit: defaultLimit, Patience: defaultPatience}}
	c := &compiled{policy: unitNamed("p", false)}
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			s.evaluateNow(b.Context(), c, policy.Subject{})
		}
	})
	b.Run("evaluator", func(b *testing.B) {
		evaluator := s.newEvaluator()
		defer evaluator.end()
		for b.Loop() {
			evaluator.evaluate(evaluationRequest{ctx: b.Context(), policy: c})
		}
	})
}
