// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/policy"
)

// share reports whether results of a policy are found here, and which rules are left to Kyverno's own
// controllers.
func (e *evaluator) share(p policy.Policy) (here bool, others policy.Rules) {
	if !p.Reported() {
		return false, policy.Rules{}
	}
	here = p.Background() || p.Admission().Enabled
	if e.config.Adopt {
		here = p.Background() || e.config.Admission && p.Admission().Enabled
		others = policy.Adoptable(p, here)
	}
	return here && !others.Every(), others
}

// adopt takes results of rules of a policy from Kyverno's own controllers. It reports whether kinds are concerned.
func (e *evaluator) adopt(item *policies.Item, rules policy.Rules) (changed bool) {
	id := item.Policy.Identity()
	state := e.adopting[id]
	if state == nil {
		state = e.add(e.adopting, id)
		if e.left == nil {
			e.left = e.config.Results.Kinds() // An earlier process may have left results of the policy.
		}
		for _, left := range e.left[id] {
			state.watchFor(policy.Target{Group: left.Group, Version: "*", Kind: left.Kind})
		}
	}
	state.item = item
	return state.updateAdopting(item.Policy, rules)
}

// stopAdopting removes the results of a policy that were adopted. It reports whether there could be any.
func (e *evaluator) stopAdopting(id policy.Identity) bool {
	state := e.adopting[id]
	if state == nil {
		return false
	}
	e.remove(e.adopting, id)
	return state.removeResults()
}

// renewAdopting adds the kinds of which results came to what is watched. It reports whether there are any that
// were not.
func (e *evaluator) renewAdopting() (changed bool) {
	for _, state := range e.adopting {
		changed = state.retarget() || changed
	}
	return changed
}

// updateAdopting sets what the policy is now, and the rules whose results are adopted. It returns false if kinds
// are not concerned.
func (s *policyState) updateAdopting(p policy.Policy, rules policy.Rules) bool {
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
	next := &compiled{policy: p, targets: s.seenTargets(), admission: true, rules: rules, adopts: true}
	if before != nil {
		next.revision = before.revision // Results stay until the next ones.
	} else {
		next.revision = &policyRevision{owner: s}
	}
	s.current = next
	s.removeFormer(before)
	return true
}

// retarget makes the kinds of subjects that were seen the targets. It returns false if they are the same.
func (s *policyState) retarget() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || len(s.current.targets) == len(s.seen) {
		return false // Targets are only added.
	}
	next := *s.current
	next.targets, next.catalog = s.seenTargets(), nil
	s.current = &next
	return true
}

// watchFor adds a target whose results are to be adopted. It reports whether it is new.
func (s *policyState) watchFor(target policy.Target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[target] {
		return false
	}
	if s.seen == nil {
		s.seen = map[policy.Target]bool{}
	}
	s.seen[target] = true
	return true
}

// seenTargets is called with the mutex. It returns the targets in a fixed order.
func (s *policyState) seenTargets() []policy.Target {
	return slices.SortedFunc(maps.Keys(s.seen), func(a, b policy.Target) int {
		return strings.Compare(a.Group+"/"+a.Kind+"/"+a.Resource, b.Group+"/"+b.Kind+"/"+b.Resource)
	})
}

// judgeAdopted is judge for results of Kyverno's own controllers. What they say of rules that are evaluated
// here is ignored, as are rules and policies that don't exist.
func (e *evaluator) judgeAdopted(a *policy.Admitted) (outcome string, patience time.Duration) {
	here, state := e.halves(a.Policy)
	switch {
	case state == nil && here != nil:
		return admittedIgnored, 0
	case state == nil:
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
	k := e.adoptingKind(c, target)
	if k == nil {
		if state.watchFor(target) {
			e.planning.Fire()
		}
		return "", scanPatience
	}
	return k.adopt(c, a)
}

// adoptingKind returns the kind that a target means, if it has c.
func (e *evaluator) adoptingKind(c *compiled, target policy.Target) *kind {
	for _, k := range e.inventory.all() {
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

// adopt sets results if their subject exists, and returns the same as [evaluator.judge].
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
