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
	// maxWaiting is how many results of requests wait at a time.
	maxWaiting = 10_000
	// subjectPatience is how long the subject of a request may take to exist. One that another
	// webhook has rejected never does.
	subjectPatience = 2 * time.Minute
	// policyPatience is how long a policy may be known to the replica that has answered the request
	// and not yet, or not any more, to this one.
	policyPatience = 10 * time.Second
	// scanPatience is the same for what has not been listed yet.
	scanPatience = 10 * time.Minute
)

// waiting are results of requests of which it is not known yet whether they are true.
type waiting struct {
	mu sync.Mutex
	// list is oldest first.
	list []*waiter
	// finished are to be called without the mutex.
	finished []func()
	closed   bool
}

// waiter is what one policy has said about one request.
type waiter struct {
	policy.Admitted
	since time.Time
	batch *batch
}

// batch is what was given to one call of Admit. The mutex of waiting guards it.
type batch struct {
	undecided int
	decided   func()
}

// close forgets what waits; nothing is set any more.
func (w *waiting) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.list = true, nil
}

// unlock calls what was decided meanwhile.
func (w *waiting) unlock() {
	finished := w.finished
	w.finished = nil
	w.mu.Unlock()
	for _, call := range finished {
		call()
	}
}

// decide is called with the mutex.
func (w *waiting) decide(item *waiter, outcome string) {
	admittedResults.WithLabelValues(outcome).Inc()
	item.batch.undecided--
	if item.batch.undecided == 0 && item.batch.decided != nil {
		w.finished = append(w.finished, item.batch.decided)
	}
}

// Admit takes what policies have said about admission requests. It counts for policies that are
// for admission alone, as soon as an object with the same UID and content exists or has existed
// lately; of several, those of the latest request. Results of all others are ignored, and so are
// those of policies that say something else now, and of objects that are gone. A deletion removes
// nothing before the object is gone: it may yet be refused. What doesn't come to exist, or to end,
// within two minutes is dropped, and so is what waits longest when there are too many. Then, when
// nothing of items waits any more, decided is called, by any goroutine; it must return quickly. It is never called if the
// scanner ends before. Admit returns quickly.
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

// retryAdmitted looks at what waits. The planner calls it.
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

// try decides about an item if that is possible. It is called with the mutex of waiting.
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

// judge sets results if they are true. It returns what became of them, or else, for how long they
// may wait.
func (s *Scanner) judge(admitted *policy.Admitted) (outcome string, patience time.Duration) {
	if !s.policiesKnown.Load() {
		return "", scanPatience
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

// watchedAs returns the kind of a resource, in that version or another; nil if it is not watched.
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

// admit sets results of a request if its subject exists, as [Scanner.judge] does. Contents of
// different versions can't be compared: then the UID is enough.
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
		return admittedApplied, 0 // The results went with it.
	case admitted.Deleted:
		return "", subjectPatience // Somebody may have refused that, or has to finish something first.
	case k.history.has(admitted.Subject.UID, noContent):
		return admittedIgnored, 0
	case !exists:
		return "", subjectPatience
	case k.resource.GroupVersionResource == admitted.Resource && !k.had(rs, admitted.Content):
		return "", subjectPatience
	}
	if !rs.done.has(c.revision) {
		rs.done = rs.done.with(c.revision) // The end of the resource is to remove them, too.
	}
	if !c.revision.owner.admit(c, k.reference(rs.packed), admitted.Results, admitted.Time) {
		return admittedIgnored, 0
	}
	return admittedApplied, 0
}

// remember is called with the mutex.
func (k *kind) remember(rs *resourceState, content policy.Content) {
	if slices.ContainsFunc(k.policies, (*compiled).isAdmission) {
		k.history.add(rs.packed.uid, content, k.queue.clock.Now())
	}
}

// had is called with the mutex, and reports whether a resource has a content or had it lately.
func (k *kind) had(rs *resourceState, content policy.Content) bool {
	return rs.packed.content == content || k.history.has(rs.packed.uid, content)
}

// admits reports whether results that an earlier process left may be those of an admission request:
// they stay until the next one, as long as the policy and the subject exist.
func (s *Scanner) admits(kinds map[schema.GroupVersionKind]*kind, id policy.Identity, subject policy.Reference) bool {
	k := kinds[schema.FromAPIVersionAndKind(subject.APIVersion, subject.Kind)]
	state := s.policyState(id)
	if k == nil || state == nil {
		return false
	}
	c := state.currentVersion()
	if c == nil || !c.admission {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	rs := k.objects[subject.Namespace][subject.Name]
	return k.revisions.has(c.revision) && rs != nil && !rs.deleted && k.reference(rs.packed) == subject
}

// ofSubjects returns targets of objects for the subresources of theirs that are the object itself.
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
