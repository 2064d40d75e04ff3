// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// maxWaiting bounds the results of requests that wait.
	maxWaiting = 10_000
	// subjectPatience is how long results wait for their subject to exist. It never does if another webhook
	// has rejected the request.
	subjectPatience = 2 * time.Minute
	// policyPatience is how long this replica may be behind, or ahead of, the replica that answered the
	// request, in what it knows of a policy.
	policyPatience = 10 * time.Second
	// scanPatience is how long results wait for policies and kinds to be listed.
	scanPatience = 10 * time.Minute
)

// waiting are results of requests that can't be applied or dropped yet.
type waiting struct {
	mu sync.Mutex
	// list is oldest first.
	list []*waiter
	// finished are functions to be called without the mutex.
	finished []func()
	closed   bool
}

// waiter has the results of one policy for one request.
type waiter struct {
	policy.Admitted
	since time.Time
	batch *batch
}

// batch are the items of one call of Admit. The mutex of waiting guards it.
type batch struct {
	undecided int
	decided   func()
}

// close drops what waits. Afterwards, no results of requests are set.
func (w *waiting) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.list = true, nil
}

// load returns how many results wait, and the age of the oldest.
func (w *waiting) load(now time.Time) load {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) == 0 {
		return load{}
	}
	return load{length: len(w.list), oldest: now.Sub(w.list[0].since)}
}

// unlock releases the mutex, and then calls the functions of batches that are decided.
func (w *waiting) unlock() {
	finished := w.finished
	w.finished = nil
	w.mu.Unlock()
	for _, call := range finished {
		call()
	}
}

// decide records the outcome of an item. It is called with the mutex.
func (w *waiting) decide(item *waiter, outcome string) {
	admittedResults.WithLabelValues(outcome).Inc()
	item.batch.undecided--
	if item.batch.undecided == 0 && item.batch.decided != nil {
		w.finished = append(w.finished, item.batch.decided)
	}
}

// Admit takes results of policies for admission requests. They are applied if the policy is for admission
// only, as soon as an object with the same UID and content exists or has existed recently; of several
// requests, the latest one counts. Results of other policies are ignored, as are those of policies that
// have changed since, and of objects that no longer exist. A request for a deletion removes nothing before
// the object is gone, since it may still be refused. Results whose object does not come into existence, or
// is not deleted, within two minutes are dropped, as are the oldest ones when too many wait.
//
// When none of items waits any more, decided is called, by any goroutine; it must return quickly. It is not
// called if the scanner ends first. Admit returns quickly.
func (s *Scanner) Admit(items []policy.Admitted, decided func()) {
	w := &s.waiting
	w.mu.Lock()
	defer w.unlock()
	if w.closed {
		return
	}
	if len(items) == 0 && decided != nil {
		w.finished = append(w.finished, decided)
	}
	now, owner := s.config.Clock.Now(), &batch{undecided: len(items), decided: decided}
	for _, admitted := range items {
		item := &waiter{Admitted: admitted, since: now, batch: owner}
		if s.try(item, now) {
			continue
		}
		w.list = append(w.list, item)
		if len(w.list) > maxWaiting {
			w.decide(w.list[0], admittedOverflow)
			w.list = w.list[1:]
		}
	}
}

// retryAdmitted tries what waits once more. The planner calls it.
func (s *Scanner) retryAdmitted() {
	w := &s.waiting
	w.mu.Lock()
	defer w.unlock()
	if len(w.list) == 0 {
		return
	}
	now := s.config.Clock.Now()
	var rest []*waiter
	for _, item := range w.list {
		if !s.try(item, now) {
			rest = append(rest, item)
		}
	}
	w.list = rest
}

// try decides about an item if possible, and reports whether it has. It is called with the mutex of waiting.
func (s *Scanner) try(item *waiter, now time.Time) bool {
	outcome, patience := s.judge(&item.Admitted)
	if outcome == "" && now.Sub(item.since) >= patience {
		outcome = admittedExpired
		if patience == policyPatience {
			outcome = admittedIgnored
		}
	}
	if outcome == "" {
		return false
	}
	s.waiting.decide(item, outcome)
	return true
}

// judge applies results if they are known to be true. It returns the outcome, or, if that is not known yet,
// how long they may wait for it.
func (s *Scanner) judge(admitted *policy.Admitted) (outcome string, patience time.Duration) {
	if !s.policiesKnown.Load() {
		return "", scanPatience
	}
	if admitted.Adopted {
		return s.judgeAdopted(admitted)
	}
	var c *compiled
	if state := s.policyState(admitted.Policy); state != nil {
		c = state.currentVersion()
	}
	switch {
	case c == nil || c.fingerprint != admitted.Fingerprint:
		return "", policyPatience
	case !c.admission:
		return admittedIgnored, 0
	}
	k := s.watchedAs(admitted.Resource)
	if k == nil {
		return "", policyPatience
	}
	return k.admit(c, admitted)
}

// watchedAs returns the kind of a resource, in this version or another; nil if it is not watched.
func (s *Scanner) watchedAs(gvr schema.GroupVersionResource) *kind {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if k := s.kinds[gvr]; k != nil {
		return k
	}
	for _, k := range s.kinds {
		if k.resource.GroupResource() == gvr.GroupResource() {
			return k
		}
	}
	return nil
}

// admit sets results of a request if its subject exists, and returns the same as [Scanner.judge]. Contents
// in different versions can't be compared: then the UID is enough.
func (k *kind) admit(c *compiled, admitted *policy.Admitted) (outcome string, patience time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.revisions.has(c.revision):
		return "", policyPatience
	case !k.listed:
		return "", scanPatience
	}
	rs := k.objects[admitted.Subject.Namespace][admitted.Subject.Name]
	exists := rs != nil && !rs.deleted && rs.packed.uid == admitted.Subject.UID
	switch {
	case admitted.Deleted && !exists:
		return admittedApplied, 0 // The results were removed with it.
	case admitted.Deleted:
		return "", subjectPatience // The deletion may have been refused, or waits for a finalizer.
	case k.history.has(admitted.Subject.UID, noContent):
		return admittedIgnored, 0
	case !exists:
		return "", subjectPatience
	case k.resource.GroupVersionResource == admitted.Resource && !k.had(rs, admitted.Content):
		return "", subjectPatience
	}
	if !rs.done.has(c.revision) {
		rs.done = rs.done.with(c.revision) // So that these results are removed with the resource, too.
	}
	if !c.revision.owner.admit(c, k.reference(rs.packed), admitted.Results, admitted.Time) {
		return admittedIgnored, 0
	}
	return admittedApplied, 0
}

// remember adds to the history, if policies need it. It is called with the mutex.
func (k *kind) remember(rs *resourceState, content policy.Content) {
	if slices.ContainsFunc(k.policies, (*compiled).isAdmission) {
		k.history.add(rs.packed.uid, content, k.queue.clock.Now())
	}
}

// had reports whether a resource has a content or had it recently. It is called with the mutex.
func (k *kind) had(rs *resourceState, content policy.Content) bool {
	return rs.packed.content == content || k.history.has(rs.packed.uid, content)
}

// admits reports whether results that an earlier process left may be those of an admission request, or were
// adopted. They stay until the next ones, as long as the policy and the subject exist.
func (s *Scanner) admits(kinds map[schema.GroupVersionKind]*kind, id policy.Identity, subject policy.Reference, rule string) bool {
	k := kinds[schema.FromAPIVersionAndKind(subject.APIVersion, subject.Kind)]
	if k == nil {
		return false
	}
	for _, state := range []*policyState{s.policyState(id), s.adoptingState(id)} {
		if state == nil {
			continue
		}
		if c := state.currentVersion(); c != nil && c.admission && c.covers(rule) && k.exists(c, subject) {
			return true
		}
	}
	return false
}

// exists reports whether a subject exists and the kind has a policy.
func (k *kind) exists(c *compiled, subject policy.Reference) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	rs := k.objects[subject.Namespace][subject.Name]
	return k.revisions.has(c.revision) && rs != nil && !rs.deleted && k.reference(rs.packed) == subject
}

// ofSubjects replaces targets of subresources that show the object itself by targets of the object.
func ofSubjects(targets []policy.Target) []policy.Target {
	result := make([]policy.Target, 0, len(targets))
	for _, target := range targets {
		for _, name := range []string{"status", "ephemeralcontainers", "resize"} {
			if target.Subresource == name || target.Subresource == "*" {
				target.Subresource = ""
			}
		}
		result = append(result, target)
	}
	return result
}
