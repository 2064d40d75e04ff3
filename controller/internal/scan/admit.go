// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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

// admit implements [Scanner.Admit].
func (e *evaluator) admit(items []policy.Admitted, decided func()) {
	w := &e.waiting
	w.mu.Lock()
	defer w.unlock()
	if w.closed {
		return
	}
	if len(items) == 0 && decided != nil {
		w.finished = append(w.finished, decided)
	}
	now, owner := e.config.Clock.Now(), &batch{undecided: len(items), decided: decided}
	for _, admitted := range items {
		item := &waiter{Admitted: admitted, since: now, batch: owner}
		if e.try(item, now) {
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
func (e *evaluator) retryAdmitted() {
	w := &e.waiting
	w.mu.Lock()
	defer w.unlock()
	if len(w.list) == 0 {
		return
	}
	now := e.config.Clock.Now()
	var rest []*waiter
	for _, item := range w.list {
		if !e.try(item, now) {
			rest = append(rest, item)
		}
	}
	w.list = rest
}

// try decides about an item if possible, and reports whether it has. It is called with the mutex of waiting.
func (e *evaluator) try(item *waiter, now time.Time) bool {
	outcome, patience := e.judge(&item.Admitted)
	if outcome == "" && now.Sub(item.since) >= patience {
		outcome = admittedExpired
		if patience == policyPatience {
			outcome = admittedIgnored
		}
	}
	if outcome == "" {
		return false
	}
	e.waiting.decide(item, outcome)
	return true
}

// judge applies results if they are known to be true. It returns the outcome, or, if that is not known yet,
// how long they may wait for it.
func (e *evaluator) judge(admitted *policy.Admitted) (outcome string, patience time.Duration) {
	if e.snapshot.Load() == nil {
		return "", scanPatience
	}
	if admitted.Adopted {
		return e.judgeAdopted(admitted)
	}
	var c *compiled
	if state, _ := e.halves(admitted.Policy); state != nil {
		c = state.currentVersion()
	}
	switch {
	case c == nil || c.fingerprint != admitted.Fingerprint:
		return "", policyPatience
	case !c.admission:
		return admittedIgnored, 0
	}
	k := e.inventory.watchedAs(admitted.Resource)
	if k == nil {
		return "", policyPatience
	}
	return k.admit(c, admitted)
}

// admit sets results of a request if its subject exists, and returns the same as [evaluator.judge]. Contents
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

// keeper returns a function that reports whether results that an earlier process left have to stay: because of what
// could not be listed, or since they may be those of an admission request, or were adopted. These stay until the
// next ones, as long as the policy and the subject exist.
func (e *evaluator) keeper(rest *unknown) func(id policy.Identity, subject policy.Reference, rule string) bool {
	kinds := map[schema.GroupVersionKind]*kind{}
	for _, k := range e.inventory.all() {
		kinds[k.resource.GVK()] = k
	}
	return func(id policy.Identity, subject policy.Reference, rule string) bool {
		if rest.has(id, subject) {
			return true
		}
		k := kinds[schema.FromAPIVersionAndKind(subject.APIVersion, subject.Kind)]
		here, adopting := e.halves(id)
		return k != nil && (here.keeps(k, subject, rule) || adopting.keeps(k, subject, rule))
	}
}

// keeps reports whether the policy may have a result of an admission request or an adopted one. s may be nil.
func (s *policyState) keeps(k *kind, subject policy.Reference, rule string) bool {
	if s == nil {
		return false
	}
	c := s.currentVersion()
	return c != nil && c.admission && c.covers(rule) && k.exists(c, subject)
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

// historySize is the number of versions that a kind remembers.
const historySize = 10_000

// history has the contents that resources had within subjectPatience: a resource may have changed once more
// before the results of a request for it come.
type history struct {
	known map[version]time.Time
	// order is oldest first; a version that was added again is in it twice.
	order []version
}

// version is a resource with a content.
type version struct {
	uid     types.UID
	content policy.Content
}

// noContent stands for a resource that no longer exists. No content has this hash.
var noContent policy.Content

// add records the content that a resource had until now, or noContent if it is gone.
func (h *history) add(uid types.UID, content policy.Content, now time.Time) {
	if h.known == nil {
		h.known = map[version]time.Time{}
	}
	v := version{uid, content}
	h.known[v] = now
	h.order = append(h.order, v)
	for len(h.order) > historySize || now.Sub(h.known[h.order[0]]) > subjectPatience {
		delete(h.known, h.order[0])
		h.order = h.order[1:]
	}
}

// forget undoes the addition of noContent, for a resource that exists after all.
func (h *history) forget(uid types.UID) { delete(h.known, version{uid, noContent}) }

func (h *history) has(uid types.UID, content policy.Content) bool {
	_, ok := h.known[version{uid, content}]
	return ok
}
