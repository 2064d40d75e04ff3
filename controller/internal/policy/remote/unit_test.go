// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

// counting is a policy that takes some time and counts its evaluations.
type counting struct {
	policy.Policy

	takes time.Duration
	count atomic.Int32
}

func (c *counting) Evaluate(ctx context.Context, _ policy.Subject) ([]policy.Result, error) {
	c.count.Add(1)
	timer := time.NewTimer(c.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, ctx.Err()
}

// TestEachOnce: every policy of a batch is evaluated once, also if some are slow.
func TestEachOnce(t *testing.T) {
	t.Parallel()
	all := []*counting{{}, {takes: 3 * turn}, {}, {takes: 2 * turn}, {}}
	policies := make([]policy.Policy, 0, len(all))
	for _, one := range all {
		policies = append(policies, one)
	}
	batch := &running{left: len(policies), added: make(chan struct{}, 1)}
	batch.run(t.Context(), policies, policy.Subject{}, 0)
	for i, one := range all {
		if n := one.count.Load(); n != 1 {
			t.Errorf("policy %d is evaluated %d times", i, n)
		}
	}
	if items, more := batch.take(false); len(items) != len(all) || more {
		t.Errorf("%d results, more %v", len(items), more)
	}
}

// TestTag: a result is known only if it is the same as before, and the process has it.
func TestTag(t *testing.T) {
	t.Parallel()
	a := newAnswers(nil)
	list, other, object := []any{1.0}, []any{1.0}, map[string]any{}
	for i, step := range []struct {
		name  string
		value any
		has   uint64
		known bool
		tag   uint64
	}{
		{"q", list, 0, false, 1}, {"q", list, 1, true, 1}, {"q", list, 0, false, 1}, {"q", other, 1, false, 2}, {"q", list, 2, false, 3},
		{"r", list, 3, false, 4}, {"s", object, 0, false, 5}, {"s", object, 5, true, 5}, {"t", "text", 5, false, 0}, {"t", nil, 5, false, 0}, {"t", []any{}, 5, false, 0},
	} {
		question := &Question{Query: policy.Query{Expression: step.name}, Known: step.has}
		if known, tag := a.tag(question, step.value); known != step.known || tag != step.tag {
			t.Errorf("step %d: %v, tag %d", i, known, tag)
		}
	}
}
