// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"slices"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// evaluateNow evaluates a policy, for at most [Config.EvaluationLimit].
func (s *Scanner) evaluateNow(ctx context.Context, c *compiled, subject policy.Subject) policy.Evaluation {
	evaluation := policy.Evaluate(ctx, c.policy, subject, s.config.EvaluationLimit, s.config.Clock)
	if evaluation.Err != nil {
		scanErrors.WithLabelValues(operationEvaluate).Inc()
	}
	return evaluation
}

// evaluate has a policy evaluated for a resource that a worker has. It does not wait for a slow one. It
// fails only if ctx is done.
func (s *Scanner) evaluate(ctx context.Context, evaluator *evaluator, rs *resourceState, c *compiled, subject policy.Subject, reference policy.Reference) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	owner := c.revision.owner
	if owner.pace.aside(rs) {
		s.putAside(ctx, owner, rs, rs.queued.urgent)
		return nil
	}
	a, later := evaluator.evaluate(evaluationRequest{ctx: ctx, policy: c, subject: subject})
	switch {
	case later != nil:
		twin := owner.pace.leave(rs)
		s.aside.Go(func() {
			s.takeAside(twin, c, reference, <-later)
			s.finishAside(ctx, owner, twin)
		})
	case a.Canceled:
		return ctx.Err() // The results may be incomplete.
	default:
		s.found(c, reference, a)
		owner.set(c, reference, a.Results)
	}
	return nil
}

// putAside queues a resource for a slow policy.
func (s *Scanner) putAside(ctx context.Context, owner *policyState, rs *resourceState, urgent bool) {
	if owner.pace.put(rs, urgent) {
		s.aside.Go(func() { s.runAside(ctx, owner) })
	}
}

// runAside serves the queue of a slow policy until it is empty. It gives its slot back after each resource,
// so that other slow policies get one.
func (s *Scanner) runAside(ctx context.Context, owner *policyState) {
	for s.stepAside(ctx, owner) {
	}
}

// stepAside evaluates a slow policy for its next resource. It returns false if there is none, or if the
// scanner ends.
func (s *Scanner) stepAside(ctx context.Context, owner *policyState) bool {
	select {
	case s.asideSlots <- struct{}{}:
		defer func() { <-s.asideSlots }()
	case <-ctx.Done():
		return false
	}
	twin, ok := owner.pace.next()
	if !ok {
		return false
	}
	if err := s.evaluateAside(ctx, owner, twin); err != nil && ctx.Err() == nil {
		scanErrors.WithLabelValues(operationEvaluate).Inc()
		klog.FromContext(ctx).Error(err, "Resource not evaluated", "resource", twin.kind.resource.GroupResource())
	}
	s.finishAside(ctx, owner, twin)
	return true
}

func (s *Scanner) finishAside(ctx context.Context, owner *policyState, twin *resourceState) {
	start, idle := owner.pace.done(twin)
	if start {
		s.aside.Go(func() { s.runAside(ctx, owner) })
	}
	if idle {
		s.queueIdle()
	}
}

// evaluateAside evaluates a slow policy for a resource as both are now.
func (s *Scanner) evaluateAside(ctx context.Context, owner *policyState, twin *resourceState) error {
	k := twin.kind
	c, packed := k.now(twin.twinOf, owner)
	if c == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	reference := k.reference(packed)
	if text := owner.pace.skip(twin.twinOf, s.config.EvaluationLimit); text != "" {
		k.setAside(twin.twinOf, c, reference, []policy.Result{{Outcome: report.OutcomeError, Message: text}})
		return nil
	}
	object, err := s.load(ctx, k, packed)
	if err != nil || object == nil {
		return err
	}
	subject, err := s.subjectOf(k, object, []*compiled{c})
	if err != nil {
		return err
	}
	s.takeAside(twin, c, reference, s.evaluateNow(ctx, c, subject))
	return nil
}

// takeAside sets the results of an evaluation aside.
func (s *Scanner) takeAside(twin *resourceState, c *compiled, reference policy.Reference, a policy.Evaluation) {
	if a.Canceled {
		return
	}
	c.revision.owner.pace.took(twin.twinOf, a.Duration, s.config.Patience, a.TimedOut)
	s.found(c, reference, a)
	twin.kind.setAside(twin.twinOf, c, reference, a.Results)
}

// asideIdle reports whether no resource waits for a slow policy. Any goroutine may call it.
func (s *Scanner) asideIdle() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, state := range s.policies {
		if !state.pace.idle() {
			return false
		}
	}
	return true
}

// tendSlow reports policies that are not evaluated for a while, and retries them afterwards.
func (s *Scanner) tendSlow(ctx context.Context) {
	for _, state := range s.policies {
		text, again := state.pace.afterRest(s.config.EvaluationLimit)
		if text != "" {
			klog.FromContext(ctx).Info("A policy takes too long", "policy", state.id, "cause", text)
			s.event(state, reasonTooSlow, "%s", text)
		}
		for _, rs := range again {
			s.putAside(ctx, state, rs, false)
		}
	}
}

// now returns the current version of a policy and the current content of a resource; nil if the policy
// doesn't match the kind any more, or the resource is deleted.
func (k *kind) now(rs *resourceState, owner *policyState) (*compiled, *packed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.policies, func(c *compiled) bool { return c.revision.owner == owner && !c.admission })
	if rs.deleted || i < 0 {
		return nil, nil
	}
	return k.policies[i], rs.packed
}

// setAside sets results of a slow policy, unless they would have to be removed. This is safe because
// results are removed only after the resource was marked as deleted, or the policy was taken from the kind,
// under the same mutex.
func (k *kind) setAside(rs *resourceState, c *compiled, reference policy.Reference, results []policy.Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !rs.deleted && slices.ContainsFunc(k.policies, func(other *compiled) bool { return other.revision == c.revision }) {
		c.revision.owner.set(c, reference, results)
	}
}
