// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
)

// apart is a policy of an engine, which writes down what it is asked for.
type apart struct {
	policy.Policy

	engine string
	asked  *[]string
	err    error
}

func (a *apart) Away() error                 { return a.err }
func (a *apart) Await(context.Context) error { return a.err }
func (a *apart) Outdated() bool              { return a.err != nil }
func (a *apart) Engine() any                 { return a.engine }

func (a *apart) Batch(ctx context.Context, policies []policy.Policy, _ policy.Subject, limit time.Duration) (context.Context, func()) {
	*a.asked = append(*a.asked, fmt.Sprint(a.engine, " ", len(policies), " ", limit))
	return ctx, func() { *a.asked = append(*a.asked, a.engine+" ends") }
}

func (a *apart) Evaluate(context.Context, policy.Subject) ([]policy.Result, error) {
	return []policy.Result{{Rule: "half"}}, a.err
}

// TestBatch: each engine is asked once, for its policies only.
func TestBatch(t *testing.T) {
	t.Parallel()
	var asked []string
	a, b := &apart{engine: "a", asked: &asked}, &apart{engine: "b", asked: &asked}
	_, end := policy.Batch(t.Context(), []policy.Policy{a, evaluating{}, b, a}, policy.Subject{}, time.Second)
	end()
	if diff := cmp.Diff([]string{"a 2 1s", "b 1 1s", "a ends", "b ends"}, asked); diff != "" {
		t.Error(diff)
	}
	if err := errors.Join(policy.Away(evaluating{}), policy.Away(a), policy.Await(t.Context(), evaluating{})); err != nil || policy.Outdated(evaluating{}) {
		t.Errorf("a policy of this process: %v", err)
	}
}

// TestEvaluateAway: an engine that is away gives no results, not even an error.
func TestEvaluateAway(t *testing.T) {
	t.Parallel()
	away := &policy.AwayError{Engine: "e", Cause: errors.New("broken")}
	got := policy.Evaluate(t.Context(), &apart{err: fmt.Errorf("x: %w", away)}, policy.Subject{}, time.Hour, clock.RealClock{})
	if !got.Away || got.Canceled || len(got.Results) > 0 || !errors.Is(got.Err, away) {
		t.Errorf("%+v", got)
	}
}

// changing is a compiler that may change.
type changing struct {
	policy.Compiler
	subscribed *[]string
	name       string
}

func (c changing) Subscribe(func()) func() {
	*c.subscribed = append(*c.subscribed, c.name)
	return func() { *c.subscribed = append(*c.subscribed, c.name+" ends") }
}

// TestSubscribe: all compilers are asked to tell of changes, and told when nobody wants to know any more.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	var got []string
	compiler := policy.ByGroup{
		Groups:   map[string]policy.Compiler{"x": changing{subscribed: &got, name: "x"}, "y": policy.ByGroup{}},
		Compiler: changing{subscribed: &got, name: "other"},
	}
	policy.Subscribe(compiler, func() {})()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"other", "other ends", "x", "x ends"}, got); diff != "" {
		t.Error(diff)
	}
}
