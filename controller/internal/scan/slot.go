// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

// slot is a policy of one name, as long as it exists. It has results only while it is current.
type slot struct {
	id      policy.Identity
	results Results

	// What the planner has compiled last; only it uses these.
	object     *unstructured.Unstructured
	exceptions *exceptionSet
	background bool
	problem    error

	// failures counts subjects for Events.
	failures failures

	// mu is held for reading while results of the policy are set, so that none comes after the
	// policy has changed or gone.
	mu           sync.RWMutex
	current      *compiled
	presentation policy.Presentation
}

// compiled is a version of a policy that gives other results than the one before.
type compiled struct {
	policy   policy.Policy
	revision *revision
	// fingerprint and targets are those of the policy.
	fingerprint string
	targets     []policy.Target
	// kinds are what targets means in catalog.
	catalog *catalog
	kinds   []resource
}

// revision stands for a compiled policy where the policy itself must not be kept.
type revision struct {
	slot *slot
}

// adopt has the policy evaluate from now on. It returns false if results stay what they are.
func (s *slot) adopt(p policy.Policy) bool {
	presentation, fingerprint := p.Presentation(), p.Fingerprint()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.presentation != presentation {
		s.presentation = presentation
		s.results.Present(s.id, presentation)
	}
	if s.current != nil && s.current.fingerprint == fingerprint {
		return false
	}
	s.current = &compiled{policy: p, revision: &revision{slot: s}, fingerprint: fingerprint, targets: p.Targets()}
	return true
}

// retire removes all results, and has none come back. It returns false if there are none anyway.
func (s *slot) retire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return false
	}
	s.current = nil
	s.results.RemovePolicy(s.id)
	return true
}

// exists tells whether the policy may have results.
func (s *slot) exists() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current != nil
}

// set sets the results of c unless it has been replaced.
func (s *slot) set(c *compiled, subject policy.Reference, results []policy.Result) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.current == c {
		s.results.Set(s.id, subject, results)
	}
}

// clear removes the results for a subject.
func (s *slot) clear(subject policy.Reference) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.current != nil {
		s.results.Set(s.id, subject, nil)
	}
}
