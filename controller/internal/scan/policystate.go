// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// policyState is what the scanner keeps of a policy, by its name, as long as it exists.
type policyState struct {
	id      policy.Identity
	results Results

	// item and wanted belong to the planner: the policy as it was seen last, and when it is to be evaluated
	// again because cached data that it reads have changed.
	item   *policies.Item
	wanted wanted

	// failures counts subjects for Events.
	failures failures
	// lane has the resources that wait for the policy if it is slow.
	lane *slowLane

	// mu is held for reading while results of the policy are set, so that none are set after the policy has
	// changed or is deleted. The policy can have results only while current is not nil.
	mu           sync.RWMutex
	current      *compiled
	presentation policy.Presentation
	// admitted has, by subject, the time of the admission request whose results were set last.
	admitted map[types.UID]time.Time
	// adopted has the same by rule, if results are adopted.
	adopted map[types.UID]map[string]time.Time
	// seen are the kinds of subjects of which results are to be adopted.
	seen map[policy.Target]bool
}

func newPolicyState(id policy.Identity, config *Config) *policyState {
	return &policyState{id: id, results: config.Results, lane: newSlowLane(config.Clock)}
}

// compiled is a policy as it was compiled. There is a new one when its results may be different.
type compiled struct {
	policy   policy.Policy
	revision *policyRevision
	// fingerprint and targets come from the policy.
	fingerprint string
	targets     []policy.Target
	// admission is true if results come only from admission requests, or are adopted.
	admission bool
	// rules are those whose results are adopted: they are not set, or, if adopts is true, only they are.
	rules  policy.Rules
	adopts bool
	// kinds are the resources that targets match in catalog.
	catalog *served.Catalog
	kinds   []served.Resource
}

// isAdmission returns admission, for functions such as [slices.ContainsFunc].
func (c *compiled) isAdmission() bool { return c.admission }

// readsNamespace reports whether results may depend on more of a namespace than its labels.
func (c *compiled) readsNamespace() bool { return !c.admission && c.policy.ReadsNamespace() }

// policyRevision identifies, by its address, results of a policy that were computed in the same way. It is
// not a resourceVersion. Resources keep it instead of the compiled policy, which can then be freed. A new
// revision causes one evaluation for every resource; a policy for admission keeps its revision, since its results
// come from requests.
type policyRevision struct {
	owner *policyState
}

// covers reports whether the results of a rule are set by c.
func (c *compiled) covers(rule string) bool { return c.rules.Has(rule) == c.adopts }

// update sets what the policy is now, and the rules that others evaluate. It returns false if its results stay
// the same.
func (s *policyState) update(p policy.Policy, others policy.Rules) bool {
	presentation, fingerprint := p.Presentation(), p.Fingerprint()
	admission := !p.Background()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.admission != admission {
		// Results of requests and of scans could not be told apart.
		s.remove()
	}
	if s.current == nil || s.presentation != presentation {
		s.presentation = presentation
		s.results.Present(s.id, presentation)
	}
	if s.current != nil && s.current.fingerprint == fingerprint {
		return false
	}
	next := &compiled{policy: p, fingerprint: fingerprint, targets: p.Targets(), admission: admission, rules: others}
	if admission {
		next.targets = ofSubjects(next.targets)
	}
	if admission && s.current != nil {
		next.revision = s.current.revision // Results stay until the next request.
	} else {
		next.revision = &policyRevision{owner: s}
	}
	before := s.current
	s.current = next
	s.removeFormer(before)
	s.lane.forgive()
	return true
}

// removeFormer removes results of rules that before covers and the current version does not. It is called with
// the mutex.
func (s *policyState) removeFormer(before *compiled) {
	if before != nil && !before.rules.Equal(s.current.rules) {
		now := s.current
		s.results.RemoveRules(s.id, func(rule string) bool { return before.covers(rule) && !now.covers(rule) })
	}
}

// invalidate causes a new evaluation of the policy for all resources that it matches.
func (s *policyState) invalidate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.current
	next.revision = &policyRevision{owner: s}
	s.current = &next
}

// removeResults removes all results, and lets no more be set until update. It returns false if the policy
// could not have any.
func (s *policyState) removeResults() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return false
	}
	s.remove()
	return true
}

// remove is called with the mutex.
func (s *policyState) remove() {
	before := s.current
	s.current, s.admitted, s.adopted = nil, nil, nil
	if before != nil && (before.adopts || !before.rules.Empty()) {
		s.results.RemoveRules(s.id, before.covers)
		return
	}
	s.results.RemovePolicy(s.id)
}

// put is called with the mutex. It replaces the results that the current version covers.
func (s *policyState) put(subject policy.Reference, results []policy.Result) {
	if c := s.current; c.adopts || !c.rules.Empty() {
		s.results.SetRules(s.id, subject, results, c.covers)
		return
	}
	s.results.Set(s.id, subject, results)
}

// exists reports whether the policy may have results.
func (s *policyState) exists() bool { return s.currentVersion() != nil }

// currentVersion returns the policy as it is now; nil if it can't have results.
func (s *policyState) currentVersion() *compiled {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// set sets results of c, unless c is no longer the current version.
func (s *policyState) set(c *compiled, subject policy.Reference, results []policy.Result) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.current == c {
		s.put(subject, results)
	}
}

// admit sets results of c for an admission request that came at a time, unless c is no longer the current
// version or those of a later request are set. It reports whether it has set them.
func (s *policyState) admit(c *compiled, subject policy.Reference, results []policy.Result, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != c || at.Before(s.admitted[subject.UID]) {
		return false
	}
	if s.admitted == nil {
		s.admitted = map[types.UID]time.Time{}
	}
	s.admitted[subject.UID] = at
	s.put(subject, results)
	return true
}

// clear removes the results for a subject.
func (s *policyState) clear(subject policy.Reference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.admitted, subject.UID)
	delete(s.adopted, subject.UID)
	if s.current != nil {
		s.put(subject, nil)
	}
}
