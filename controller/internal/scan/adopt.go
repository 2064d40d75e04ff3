// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/policy"
)

// share reports whether results of a policy are found here, and which rules are left to Kyverno's own
// controllers.
func (s *Scanner) share(p policy.Policy) (here bool, others policy.Rules) {
	if !p.Reported() {
		return false, policy.Rules{}
	}
	here = p.Background() || p.Admission().Enabled
	if s.config.Adopt {
		here = p.Background() || s.config.Admission && p.Admission().Enabled
		others = policy.Adoptable(p, here)
	}
	return here && !others.Every(), others
}

// adopt has results of rules of a policy adopted. It reports whether kinds are concerned.
func (s *Scanner) adopt(item *policies.Item, rules policy.Rules) (changed bool) {
	id := item.Policy.Identity()
	state := s.adopting[id]
	if state == nil {
		state = &policyState{id: id, results: s.config.Results, slowness: newSlowness(s.config.Clock)}
		s.mu.Lock()
		s.adopting[id] = state
		s.mu.Unlock()
		for _, left := range s.leftOf(id) {
			s.watchFor(id, policy.Target{Group: left.Group, Version: "*", Kind: left.Kind})
		}
	}
	state.item = item
	return state.updateAdopting(item.Policy, rules, s.watchedFor(id))
}

// leftOf returns the kinds of the subjects for which an earlier process left results of a policy.
func (s *Scanner) leftOf(id policy.Identity) []schema.GroupVersionKind {
	if s.left == nil {
		s.left = s.config.Results.Kinds()
	}
	return s.left[id]
}

// stopAdopting removes the results of a policy that were adopted. It reports whether there could be any.
func (s *Scanner) stopAdopting(id policy.Identity) bool {
	state := s.adopting[id]
	if state == nil {
		return false
	}
	s.mu.Lock()
	delete(s.adopting, id)
	delete(s.seen, id)
	s.mu.Unlock()
	return state.removeResults()
}

// renewAdopting has the kinds watched of which results came. It reports whether there are any that were not.
func (s *Scanner) renewAdopting() (changed bool) {
	for id, state := range s.adopting {
		changed = state.retarget(s.watchedFor(id)) || changed
	}
	return changed
}

// updateAdopting sets what the policy is now, the rules whose results are adopted, and the kinds of their
// subjects. It returns false if kinds are not concerned.
func (s *policyState) updateAdopting(p policy.Policy, rules policy.Rules, targets []policy.Target) bool {
	presentation := p.Presentation()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.presentation != presentation {
		s.presentation = presentation
		s.results.Present(s.id, presentation)
	}
	before := s.current
	if before != nil && before.rules.Equal(rules) {
		return false
	}
	next := &compiled{policy: p, targets: targets, admission: true, rules: rules, adopts: true}
	if before != nil {
		next.revision = before.revision // Results stay until the next ones.
	} else {
		next.revision = &policyRevision{owner: s}
	}
	s.current = next
	s.removeFormer(before)
	return true
}

// retarget sets the kinds of subjects. It returns false if they are the same.
func (s *policyState) retarget(targets []policy.Target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || len(s.current.targets) == len(targets) {
		return false // Targets are only added.
	}
	next := *s.current
	next.targets, next.catalog = targets, nil
	s.current = &next
	return true
}

// watchFor has the resources of a target watched, so that results of a policy for them can be adopted.
func (s *Scanner) watchFor(id policy.Identity, target policy.Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[id] == nil {
		s.seen[id] = map[policy.Target]bool{}
	}
	if !s.seen[id][target] {
		s.seen[id][target] = true
		s.planning.Fire()
	}
}

// watchedFor returns the targets that watchFor was called with, in a fixed order.
func (s *Scanner) watchedFor(id policy.Identity) []policy.Target {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(s.seen[id]), func(a, b policy.Target) int {
		return strings.Compare(a.Group+"/"+a.Kind+"/"+a.Resource, b.Group+"/"+b.Kind+"/"+b.Resource)
	})
}

// adoptingState returns the state of a policy of which results are adopted; nil if there is none. Any goroutine
// may call it.
func (s *Scanner) adoptingState(id policy.Identity) *policyState {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.adopting[id]
}

// judgeAdopted is judge for results of Kyverno's own controllers. What they say of rules that are evaluated
// here is ignored, as are rules and policies that don't exist.
func (s *Scanner) judgeAdopted(a *policy.Admitted) (outcome string, patience time.Duration) {
	state := s.adoptingState(a.Policy)
	if state == nil {
		if s.policyState(a.Policy) != nil {
			return admittedIgnored, 0
		}
		return "", policyPatience
	}
	c := state.currentVersion()
	if c == nil || !slices.ContainsFunc(a.Results, func(r policy.Result) bool { return c.rules.Has(r.Rule) }) {
		return "", policyPatience
	}
	target := policy.Target{Group: a.Resource.Group, Version: "*", Resource: a.Resource.Resource}
	if target.Resource == "" {
		target.Kind = a.Subject.Kind
	}
	k := s.adoptingKind(c, target)
	if k == nil {
		s.watchFor(a.Policy, target)
		return "", scanPatience
	}
	return k.adopt(c, a)
}

// adoptingKind returns the kind that a target means, if it has c.
func (s *Scanner) adoptingKind(c *compiled, target policy.Target) *kind {
	for _, k := range s.allKinds() {
		if target.Matches(k.resource.GVK(), k.resource.Resource) && k.has(c) {
			return k
		}
	}
	return nil
}

func (k *kind) has(c *compiled) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.revisions.has(c.revision)
}

// adopt sets results if their subject exists, and returns the same as [Scanner.judge].
func (k *kind) adopt(c *compiled, a *policy.Admitted) (outcome string, patience time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.listed {
		return "", scanPatience
	}
	rs, uid := k.objects[a.Subject.Namespace][a.Subject.Name], a.Subject.UID
	if uid != "" && k.history.has(uid, noContent) {
		return admittedIgnored, 0
	}
	// Kyverno does not know the UID of what is being created when it changes it.
	if rs == nil || rs.deleted || uid != "" && rs.packed.uid != uid {
		return "", subjectPatience
	}
	if !rs.done.has(c.revision) {
		rs.done = rs.done.with(c.revision) // So that these results are removed with the resource, too.
	}
	if !c.revision.owner.adopt(k.reference(rs.packed), a.Results, a.Time) {
		return admittedIgnored, 0
	}
	return admittedApplied, 0
}

// adopt sets results that were found at a time, except those of which later ones are set. It reports whether it
// has set any. Where results don't tell rules apart, there is one.
func (s *policyState) adopt(subject policy.Reference, results []policy.Result, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return false
	}
	known := s.adopted[subject.UID]
	var taken []policy.Result
	rules := map[string]bool{}
	for _, r := range results {
		key := r.Rule
		if s.current.rules.Every() {
			key = ""
		}
		if !s.current.covers(r.Rule) || rules[key] || at.Before(known[key]) {
			continue
		}
		rules[key] = true
		taken = append(taken, r)
	}
	if len(taken) == 0 {
		return false
	}
	if s.adopted == nil {
		s.adopted = map[types.UID]map[string]time.Time{}
	}
	if known == nil {
		known = make(map[string]time.Time, len(rules))
		s.adopted[subject.UID] = known
	}
	for key := range rules {
		known[key] = at
	}
	of := func(rule string) bool { return rules[rule] }
	if s.current.rules.Every() {
		of = s.current.covers
	}
	s.results.Adopt(s.id, subject, taken, of, at)
	return true
}
