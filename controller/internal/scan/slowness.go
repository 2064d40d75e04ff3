// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
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

// slowness knows whether a policy is slow. The resources of a slow policy wait in a queue of its own, the slow
// lane, and the workers, which all policies share, do not wait for it.
type slowness struct {
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
	// until is when a policy that is not evaluated for a while is retried, and rest the length of that
	// while. The zero time stands for none.
	until time.Time
	rest  time.Duration
	// skipped are the resources to evaluate when the policy is no longer too slow.
	skipped map[*resourceState]bool
	// told is true once an Event and the log have told of the rest.
	told bool
}

func newSlowness(c clock.PassiveClock) *slowness {
	return &slowness{clock: c, queue: newQueue(c, func() {}), standIns: map[*resourceState]*resourceState{}, skipped: map[*resourceState]bool{}}
}

// takes reports whether a resource is evaluated in the slow lane: the policy is slow, or was when the resource
// was queued, so that its results would come in the wrong order otherwise.
func (p *slowness) takes(rs *resourceState) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slow || p.standIns[rs] != nil
}

// put queues a resource, and reports whether the caller has to start another runner.
func (p *slowness) put(rs *resourceState, urgent bool) (start bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	standIn := p.standIns[rs]
	if standIn == nil {
		standIn = &resourceState{kind: rs.kind, standsFor: rs}
		p.standIns[rs] = standIn
	}
	p.queue.add(standIn, urgent)
	if p.runners < slowRunners {
		p.runners++
		return true
	}
	return false
}

// leave records that an evaluation has taken too long and continues in the slow lane: the policy is slow.
func (p *slowness) leave(rs *resourceState) (standIn *resourceState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow, p.quick = true, 0
	standIn = &resourceState{kind: rs.kind, standsFor: rs}
	p.standIns[rs] = standIn
	p.queue.adopt(standIn)
	return standIn
}

// next returns the next stand-in for a runner, which must end if there is none.
func (p *slowness) next() (standIn *resourceState, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if standIn, ok = p.queue.poll(); !ok {
		p.runners--
	}
	return standIn, ok
}

// done gives back what next or leave returned. It reports whether the caller has to start another runner,
// and whether nothing is left to do.
func (p *slowness) done(standIn *resourceState) (start, idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.done(standIn)
	if standIn.queued.lane == laneNone {
		delete(p.standIns, standIn.standsFor)
	} else if p.runners < slowRunners {
		p.runners++
		start = true
	}
	if len(p.skipped) == 0 && (p.quick >= quickMeanwhile || p.quick >= quickAgain && len(p.standIns) == 0) {
		p.slow = false
	}
	return start, len(p.standIns) == 0
}

// load returns the state of the policy, empty if it is not slow, and the number of resources that wait for
// it.
func (p *slowness) load() (state string, resources int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.clock.Now().Before(p.until):
		state = stateResting
	case p.slow:
		state = stateSlow
	}
	return state, len(p.standIns)
}

// idle reports whether the slow lane is empty. Skipped resources don't count: they
// have results that say so.
func (p *slowness) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.standIns) == 0
}

// took records how long the evaluation for a resource took, and whether it reached the limit.
func (p *slowness) took(rs *resourceState, length, patience time.Duration, limit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if length > patience {
		p.quick = max(0, p.quick-quickAgain)
	} else {
		p.quick++
	}
	if !limit {
		p.reset()
		return
	}
	p.struck = append(p.struck, rs)
	if p.strikes++; p.strikes < maxStrikes {
		return
	}
	for _, one := range p.struck {
		p.skipped[one] = true
	}
	p.struck = nil
	if !p.clock.Now().Before(p.until) {
		p.rest = min(max(firstRest, 2*p.rest), longestRest)
		p.until = p.clock.Now().Add(p.rest)
	}
}

// reset is called with the mutex when an evaluation has not reached the limit.
func (p *slowness) reset() {
	p.strikes, p.struck, p.rest, p.until, p.told = 0, nil, 0, time.Time{}, false
}

// forgive makes the policy eligible at once: it has changed.
func (p *slowness) forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
	clear(p.skipped) // All resources are evaluated again.
}

// skip returns why the policy is not evaluated for a resource; empty if it is to be evaluated.
func (p *slowness) skip(rs *resourceState, limit time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.clock.Now().Before(p.until) {
		delete(p.skipped, rs)
		return ""
	}
	p.skipped[rs] = true
	return p.restText(limit)
}

// restText is called with the mutex.
func (p *slowness) restText(limit time.Duration) string {
	return fmt.Sprintf("not evaluated: the last %d evaluations of this policy took longer than %v each; retried at %s. Have it call a service less often, or cache what it reads",
		p.strikes, limit, p.until.UTC().Format(time.RFC3339))
}

// afterRest returns what users have not been told yet of a rest, and what is to be retried after one: a
// single resource until an evaluation succeeds, then all.
func (p *slowness) afterRest(limit time.Duration) (text string, again []*resourceState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clock.Now().Before(p.until) {
		if !p.told {
			p.told, text = true, p.restText(limit)
		}
		return text, nil
	}
	if len(p.skipped) == 0 || p.strikes > 0 && len(p.standIns) > 0 {
		return "", nil
	}
	again = slices.Collect(maps.Keys(p.skipped))
	if p.strikes > 0 {
		again = again[:1]
	}
	for _, rs := range again {
		delete(p.skipped, rs)
	}
	p.told = false
	return "", again
}
