// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// defaultPatience and defaultLimit are the defaults of [Config.Patience] and [Config.EvaluationLimit].
	defaultPatience = 250 * time.Millisecond
	defaultLimit    = 30 * time.Second
	// slowRunners is the number of resources for which a slow policy is evaluated at a time.
	slowRunners = 2
	// maxSlowEvaluations bounds the evaluations of all slow policies at a time, and so their memory. Up to half as many
	// slow policies are not limited by it.
	maxSlowEvaluations = 32
	// maxStrikes is the number of evaluations in a row that may reach the limit before a policy is not
	// evaluated for a while: for firstRest, then for longer, up to longestRest.
	maxStrikes  = 3
	firstRest   = time.Minute
	longestRest = time.Hour
	// quickAgain is the number of quick evaluations after which a policy is no longer slow if no resource waits for
	// it, and quickMeanwhile if some do: a process that gets no processor for a moment, or collects garbage, finds
	// any policy slow, and one that stayed slow would have each resource unpacked for it alone. An evaluation that
	// is not quick takes quickAgain back.
	quickAgain     = 100
	quickMeanwhile = 1000
)

// slowLane knows whether a policy is slow. The resources of a slow policy wait in a queue of its own, and the
// workers, which all policies share, do not wait for it.
//
// A limit for each evaluation and a pause of the policy would be simpler, and is not enough: with two workers, 10,000
// resources and 16 quick policies, the others need 170 s instead of 80 s beside a policy whose calls all reach the
// limit, and 40 hours beside one whose calls take 29 s. TestSlowPolicyStarvesNobody has the first of these: 80.3 s.
type slowLane struct {
	clock clock.PassiveClock
	queue *queue

	mu   sync.Mutex
	slow bool
	// runners is the number of goroutines that serve the queue.
	runners int
	// standIns are the resource states in the slow lane, by the resource that they stand for.
	standIns map[*resourceState]*resourceState
	// quick counts quick evaluations as quickAgain says; strikes, those in a row that reached the limit.
	quick, strikes int
	// struck are the resources whose evaluations reached the limit.
	struck []*resourceState
	rest   rest
	// skipped are the resources to evaluate when the policy is no longer too slow.
	skipped map[*resourceState]bool
}

// rest is the time in which a policy is not evaluated.
type rest struct {
	// until is when the policy is retried; zero for no rest.
	until  time.Time
	length time.Duration
	// told is true once an Event and the log have told of it.
	told bool
}

// slowLanes has what all slow policies share.
type slowLanes struct {
	// WaitGroup counts the goroutines that evaluate slow policies, for which no worker waits.
	sync.WaitGroup

	// slots bounds how many of them evaluate at a time.
	slots chan struct{}
}

func newSlowLane(c clock.PassiveClock) *slowLane {
	return &slowLane{clock: c, queue: newQueue(c), standIns: map[*resourceState]*resourceState{}, skipped: map[*resourceState]bool{}}
}

// takes reports whether a resource is evaluated in the slow lane: the policy is slow, or was when the resource
// was queued, so that its results would come in the wrong order otherwise.
func (l *slowLane) takes(rs *resourceState) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slow || l.standIns[rs] != nil
}

// put queues a resource, and reports whether the caller has to start another runner.
func (l *slowLane) put(rs *resourceState, urgent bool) (start bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	standIn := l.standIns[rs]
	if standIn == nil {
		standIn = &resourceState{kind: rs.kind, standsFor: rs}
		l.standIns[rs] = standIn
	}
	l.queue.add(standIn, urgent)
	if l.runners < slowRunners {
		l.runners++
		return true
	}
	return false
}

// leave records that an evaluation has taken too long and continues in the slow lane: the policy is slow.
func (l *slowLane) leave(rs *resourceState) (standIn *resourceState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow, l.quick = true, 0
	standIn = &resourceState{kind: rs.kind, standsFor: rs}
	l.standIns[rs] = standIn
	l.queue.adopt(standIn)
	return standIn
}

// next returns the next stand-in for a runner, which must end if there is none.
func (l *slowLane) next() (standIn *resourceState, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if standIn, ok = l.queue.poll(); !ok {
		l.runners--
	}
	return standIn, ok
}

// done gives back what next or leave returned. It reports whether the caller has to start another runner,
// and whether nothing is left to do.
func (l *slowLane) done(standIn *resourceState) (start, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue.done(standIn)
	if standIn.queued.lane == laneNone {
		delete(l.standIns, standIn.standsFor)
	} else if l.runners < slowRunners {
		l.runners++
		start = true
	}
	if len(l.skipped) == 0 && (l.quick >= quickMeanwhile || l.quick >= quickAgain && len(l.standIns) == 0) {
		l.slow = false
	}
	return start, len(l.standIns) == 0
}

// load returns the state of the policy, empty if it is not slow, and the number of resources that wait for it.
// Skipped ones don't count: they have results that say so.
func (l *slowLane) load() (state string, resources int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.clock.Now().Before(l.rest.until):
		state = stateResting
	case l.slow:
		state = stateSlow
	}
	return state, len(l.standIns)
}

// took records how long the evaluation for a resource took, and whether it reached the limit.
func (l *slowLane) took(rs *resourceState, length, patience time.Duration, limit bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if length > patience {
		l.quick = max(0, l.quick-quickAgain)
	} else {
		l.quick++
	}
	if !limit {
		l.reset()
		return
	}
	l.struck = append(l.struck, rs)
	if l.strikes++; l.strikes < maxStrikes {
		return
	}
	for _, one := range l.struck {
		l.skipped[one] = true
	}
	l.struck = nil
	if !l.clock.Now().Before(l.rest.until) {
		l.rest.length = min(max(firstRest, 2*l.rest.length), longestRest)
		l.rest.until = l.clock.Now().Add(l.rest.length)
	}
}

// reset is called with the mutex when an evaluation has not reached the limit.
func (l *slowLane) reset() {
	l.strikes, l.struck, l.rest = 0, nil, rest{}
}

// forgive makes the policy eligible at once: it has changed.
func (l *slowLane) forgive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reset()
	clear(l.skipped) // All resources are evaluated again.
}

// skip returns why the policy is not evaluated for a resource; empty if it is to be evaluated.
func (l *slowLane) skip(rs *resourceState, limit time.Duration) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.clock.Now().Before(l.rest.until) {
		delete(l.skipped, rs)
		return ""
	}
	l.skipped[rs] = true
	return l.restText(limit)
}

// restText is called with the mutex.
func (l *slowLane) restText(limit time.Duration) string {
	return fmt.Sprintf("not evaluated: the last %d evaluations of this policy took longer than %v each; retried at %s. Have it call a service less often, or cache what it reads",
		l.strikes, limit, l.rest.until.UTC().Format(time.RFC3339))
}

// afterRest returns what users have not been told yet of a rest, and what is to be retried after one: a
// single resource until an evaluation succeeds, then all.
func (l *slowLane) afterRest(limit time.Duration) (text string, again []*resourceState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clock.Now().Before(l.rest.until) {
		if !l.rest.told {
			l.rest.told, text = true, l.restText(limit)
		}
		return text, nil
	}
	if len(l.skipped) == 0 || l.strikes > 0 && len(l.standIns) > 0 {
		return "", nil
	}
	again = slices.Collect(maps.Keys(l.skipped))
	if l.strikes > 0 {
		again = again[:1]
	}
	for _, rs := range again {
		delete(l.skipped, rs)
	}
	l.rest.told = false
	return "", again
}

// queueSlow queues a resource for a slow policy.
func (e *evaluator) queueSlow(ctx context.Context, owner *policyState, rs *resourceState, urgent bool) {
	if owner.lane.put(rs, urgent) {
		e.slow.Go(func() { e.runSlowLane(ctx, owner) })
	}
}

// runSlowLane serves the queue of a slow policy until it is empty. It gives its slot back after each resource,
// so that other slow policies get one.
func (e *evaluator) runSlowLane(ctx context.Context, owner *policyState) {
	for e.stepSlowLane(ctx, owner) {
	}
}

// stepSlowLane evaluates a slow policy for its next resource. It returns false if there is none, or if the
// scanner ends.
func (e *evaluator) stepSlowLane(ctx context.Context, owner *policyState) bool {
	select {
	case e.slow.slots <- struct{}{}:
		defer func() { <-e.slow.slots }()
	case <-ctx.Done():
		return false
	}
	standIn, ok := owner.lane.next()
	if !ok {
		return false
	}
	notEvaluated(ctx, standIn, e.evaluateSlow(ctx, owner, standIn))
	e.finishSlow(ctx, owner, standIn)
	return true
}

func (e *evaluator) finishSlow(ctx context.Context, owner *policyState, standIn *resourceState) {
	start, idle := owner.lane.done(standIn)
	if start {
		e.slow.Go(func() { e.runSlowLane(ctx, owner) })
	}
	if idle {
		e.inventory.queue.signalIdle()
	}
}

// evaluateSlow evaluates a slow policy for a resource as both are now.
func (e *evaluator) evaluateSlow(ctx context.Context, owner *policyState, standIn *resourceState) error {
	k := standIn.kind
	c, packed := k.now(standIn.standsFor, owner)
	if c == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	reference := k.reference(packed)
	if text := owner.lane.skip(standIn.standsFor, e.config.EvaluationLimit); text != "" {
		k.setSlow(standIn.standsFor, c, reference, []policy.Result{{Outcome: report.OutcomeError, Message: text}})
		return nil
	}
	object, err := e.inventory.load(ctx, k, packed)
	if err != nil || object == nil {
		return err
	}
	subject, err := e.subjectOf(k, object, []*compiled{c})
	if err != nil {
		return err
	}
	e.takeSlow(standIn, c, reference, e.evaluateNow(ctx, c, subject))
	return nil
}

// takeSlow sets the results of an evaluation of a slow policy.
func (e *evaluator) takeSlow(standIn *resourceState, c *compiled, reference policy.Reference, a policy.Evaluation) {
	if a.Canceled {
		return
	}
	c.revision.owner.lane.took(standIn.standsFor, a.Duration, e.config.Patience, a.TimedOut)
	e.found(c, reference, a)
	standIn.kind.setSlow(standIn.standsFor, c, reference, a.Results)
}

// slowLanesIdle reports whether no resource waits for a slow policy. Any goroutine may call it.
func (e *evaluator) slowLanesIdle() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, state := range e.policies {
		if _, waiting := state.lane.load(); waiting > 0 {
			return false
		}
	}
	return true
}

// tendSlow reports policies that are not evaluated for a while, and retries them afterwards.
func (e *evaluator) tendSlow(ctx context.Context) {
	for _, state := range e.policies {
		text, again := state.lane.afterRest(e.config.EvaluationLimit)
		if text != "" {
			klog.FromContext(ctx).Info("A policy takes too long", "policy", state.id, "cause", text)
			e.event(state, reasonTooSlow, "%s", text)
		}
		for _, rs := range again {
			e.queueSlow(ctx, state, rs, false)
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
