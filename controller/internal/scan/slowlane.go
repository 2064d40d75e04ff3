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

// evaluate evaluates a policy for the resource of a worker, or queues the resource if the policy is slow. It
// fails only if ctx is done.
func (s *Scanner) evaluate(ctx context.Context, evaluator *evaluator, rs *resourceState, c *compiled, subject policy.Subject, reference policy.Reference) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	owner := c.revision.owner
	if owner.slowness.takes(rs) {
		s.queueSlow(ctx, owner, rs, rs.queued.urgent)
		return nil
	}
	a, later := evaluator.evaluate(evaluationRequest{ctx: ctx, policy: c, subject: subject})
	switch {
	case later != nil:
		standIn := owner.slowness.leave(rs)
		s.slowLane.Go(func() {
			s.takeSlow(standIn, c, reference, <-later)
			s.finishSlow(ctx, owner, standIn)
		})
	case a.Canceled:
		return ctx.Err() // The results may be incomplete.
	default:
		s.found(c, reference, a)
		owner.set(c, reference, a.Results)
	}
	return nil
}

// queueSlow queues a resource for a slow policy.
func (s *Scanner) queueSlow(ctx context.Context, owner *policyState, rs *resourceState, urgent bool) {
	if owner.slowness.put(rs, urgent) {
		s.slowLane.Go(func() { s.runSlowLane(ctx, owner) })
	}
}

// runSlowLane serves the queue of a slow policy until it is empty. It gives its slot back after each resource,
// so that other slow policies get one.
func (s *Scanner) runSlowLane(ctx context.Context, owner *policyState) {
	for s.stepSlowLane(ctx, owner) {
	}
}

// stepSlowLane evaluates a slow policy for its next resource. It returns false if there is none, or if the
// scanner ends.
func (s *Scanner) stepSlowLane(ctx context.Context, owner *policyState) bool {
	select {
	case s.slowSlots <- struct{}{}:
		defer func() { <-s.slowSlots }()
	case <-ctx.Done():
		return false
	}
	standIn, ok := owner.slowness.next()
	if !ok {
		return false
	}
	if err := s.evaluateSlow(ctx, owner, standIn); err != nil && ctx.Err() == nil {
		scanErrors.WithLabelValues(operationEvaluate).Inc()
		klog.FromContext(ctx).Error(err, "Resource not evaluated", "resource", standIn.kind.resource.GroupResource())
	}
	s.finishSlow(ctx, owner, standIn)
	return true
}

func (s *Scanner) finishSlow(ctx context.Context, owner *policyState, standIn *resourceState) {
	start, idle := owner.slowness.done(standIn)
	if start {
		s.slowLane.Go(func() { s.runSlowLane(ctx, owner) })
	}
	if idle {
		s.queueIdle()
	}
}

// evaluateSlow evaluates a slow policy for a resource as both are now.
func (s *Scanner) evaluateSlow(ctx context.Context, owner *policyState, standIn *resourceState) error {
	k := standIn.kind
	c, packed := k.now(standIn.standsFor, owner)
	if c == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	reference := k.reference(packed)
	if text := owner.slowness.skip(standIn.standsFor, s.config.EvaluationLimit); text != "" {
		k.setSlow(standIn.standsFor, c, reference, []policy.Result{{Outcome: report.OutcomeError, Message: text}})
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
	s.takeSlow(standIn, c, reference, s.evaluateNow(ctx, c, subject))
	return nil
}

// takeSlow sets the results of an evaluation of a slow policy.
func (s *Scanner) takeSlow(standIn *resourceState, c *compiled, reference policy.Reference, a policy.Evaluation) {
	if a.Canceled {
		return
	}
	c.revision.owner.slowness.took(standIn.standsFor, a.Duration, s.config.Patience, a.TimedOut)
	s.found(c, reference, a)
	standIn.kind.setSlow(standIn.standsFor, c, reference, a.Results)
}

// slowLaneIdle reports whether no resource waits for a slow policy. Any goroutine may call it.
func (s *Scanner) slowLaneIdle() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, state := range s.policies {
		if !state.slowness.idle() {
			return false
		}
	}
	return true
}

// tendSlow reports policies that are not evaluated for a while, and retries them afterwards.
func (s *Scanner) tendSlow(ctx context.Context) {
	for _, state := range s.policies {
		text, again := state.slowness.afterRest(s.config.EvaluationLimit)
		if text != "" {
			klog.FromContext(ctx).Info("A policy takes too long", "policy", state.id, "cause", text)
			s.event(state, reasonTooSlow, "%s", text)
		}
		for _, rs := range again {
			s.queueSlow(ctx, state, rs, false)
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

// setSlow sets results of a slow policy, unless they would have to be removed. This is safe because
// results are removed only after the resource was marked as deleted, or the policy was taken from the kind,
// under the same mutex.
func (k *kind) setSlow(rs *resourceState, c *compiled, reference policy.Reference, results []policy.Result) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !rs.deleted && slices.ContainsFunc(k.policies, func(other *compiled) bool { return other.revision == c.revision }) {
		c.revision.owner.set(c, reference, results)
	}
}
