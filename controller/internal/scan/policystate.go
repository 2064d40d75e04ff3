// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/policies"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/served"
)

// policyState is a policy of one name, as long as it exists. It has results only while it is current.
type policyState struct {
	id      policy.Identity
	results Results

	// item and wanted are the planner's own: what the policy is, and when it is to be evaluated
	// again because of what it reads.
	item   *policies.Item
	wanted wanted

	// failures counts subjects for Events.
	failures failures
	// pace is how fast the policy is.
	pace *pace

	// mu is held for reading while results of the policy are set, so that none comes after the
	// policy has changed or gone.
	mu           sync.RWMutex
	current      *compiled
	presentation policy.Presentation
	// admitted is when the requests came whose results were set last, by subject.
	admitted map[types.UID]time.Time
}

// compiled is a version of a policy that gives other results than the one before.
type compiled struct {
	policy   policy.Policy
	revision *policyRevision
	// fingerprint and targets are those of the policy.
	fingerprint string
	targets     []policy.Target
	// admission tells that results come from admission requests alone.
	admission bool
	// kinds are what targets means in catalog.
	catalog *served.Catalog
	kinds   []served.Resource
}

// isAdmission is for lists.
func (c *compiled) isAdmission() bool { return c.admission }

// readsNamespace reports whether a change of a namespace changes results, even if that of no label.
func (c *compiled) readsNamespace() bool { return !c.admission && c.policy.ReadsNamespace() }

// policyRevision stands for a compiled policy where the policy itself must not be kept. What it gives to
// a resource has to be computed once, or, at admission, is what requests have given.
type policyRevision struct {
	owner *policyState
}

// update has the policy give results from now on. It returns false if results stay what they are.
func (s *policyState) update(p policy.Policy) bool {
	presentation, fingerprint := p.Presentation(), p.Fingerprint()
	admission := !p.Background()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.admission != admission {
		// Nobody would know whose results are whose.
		s.remove()
	}
	if s.current == nil || s.presentation != presentation {
		s.presentation = presentation
		s.results.Present(s.id, presentation)
	}
	if s.current != nil && s.current.fingerprint == fingerprint {
		return false
	}
	next := &compiled{policy: p, fingerprint: fingerprint, targets: p.Targets(), admission: admission}
	if admission {
		next.targets = ofSubjects(next.targets)
	}
	if admission && s.current != nil {
		next.revision = s.current.revision // Results stay until the next request.
	} else {
		next.revision = &policyRevision{owner: s}
	}
	s.current = next
	s.pace.forgive()
	return true
}

// invalidate has the policy evaluated again for all its resources.
func (s *policyState) invalidate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.current
	next.revision = &policyRevision{owner: s}
	s.current = &next
}

// removeResults removes all results, and has none come back. It returns false if there are none anyway.
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
	s.current, s.admitted = nil, nil
	s.results.RemovePolicy(s.id)
}

// exists reports whether the policy may have results.
func (s *policyState) exists() bool { return s.currentVersion() != nil }

// currentVersion returns what the policy is now; nil if it can't have results.
func (s *policyState) currentVersion() *compiled {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// set sets the results of c unless it has been replaced.
func (s *policyState) set(c *compiled, subject policy.Reference, results []policy.Result) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.current == c {
		s.results.Set(s.id, subject, results)
	}
}

// admit sets the results of a request to c, unless c has been replaced or a later request has set
// some. It returns whether it has.
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
	s.results.Set(s.id, subject, results)
	return true
}

// clear removes the results for a subject.
func (s *policyState) clear(subject policy.Reference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.admitted, subject.UID)
	if s.current != nil {
		s.results.Set(s.id, subject, nil)
	}
}
