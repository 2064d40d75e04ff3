// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/policy"
)

// awayPatience is how long an engine may be away before Events tell of it: a restart takes less.
const awayPatience = 10 * time.Second

// prepare has the engines that are processes of their own evaluate all policies that a worker is about to evaluate
// for a subject. The caller must call end.
func (s *Scanner) prepare(ctx context.Context, due []*compiled, subject policy.Subject) (batch context.Context, end func()) {
	policies := make([]policy.Policy, 0, len(due))
	for _, c := range due {
		if !c.admission && !c.revision.owner.pace.isSlow() {
			policies = append(policies, c.policy)
		}
	}
	return policy.Batch(ctx, policies, subject, s.config.EvaluationLimit)
}

// miss records that a policy could not be evaluated for a resource, since its engine was away. Its results stay as
// they are.
func (s *Scanner) miss(owner *policyState) {
	if !owner.missed.Swap(true) {
		s.planning.Fire() // The engine may have come back meanwhile.
	}
}

// catchUp has policies evaluated for all their resources that were not evaluated for some while their engine was
// away, once it is there. It reports whether there are any. The planner calls it.
func (s *Scanner) catchUp() (changed bool) {
	for _, state := range s.policies {
		if !state.missed.Load() || policy.Away(state.item.Policy) != nil {
			continue
		}
		state.missed.Store(false) // Before invalidate: what is missed from now on counts once more.
		if state.current != nil && !state.current.admission {
			state.invalidate()
			changed = true
		}
	}
	return changed
}

// awayPolicies returns the policies whose stored results can't be told to be obsolete, since their engine is away.
func (s *Scanner) awayPolicies() map[policy.Identity]bool {
	away := map[policy.Identity]bool{}
	for id, state := range s.policies {
		if state.missed.Load() || policy.Away(state.item.Policy) != nil {
			away[id] = true
		}
	}
	return away
}

// tendAway sends an Event to some of the policies whose engine is away for longer than a restart takes.
func (s *Scanner) tendAway(ctx context.Context) {
	now, told := s.config.Clock.Now(), 0
	for _, state := range s.policies {
		if state.toldAway {
			told++
		}
	}
	for id, state := range s.policies {
		err := policy.Away(state.item.Policy)
		switch {
		case err == nil:
			state.awaySince, state.toldAway = time.Time{}, false
		case state.awaySince.IsZero():
			state.awaySince = now
		case !state.toldAway && now.Sub(state.awaySince) >= awayPatience && told < maxEventPolicies:
			told++
			state.toldAway = true
			klog.FromContext(ctx).V(1).Info("A policy waits for its engine", "policy", id, "cause", err.Error())
			s.event(state, reasonEngineAway, "The policy is not evaluated, and its results stay as they are: %v", err)
		}
	}
}
