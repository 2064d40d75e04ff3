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
	// defaultPatience and defaultLimit are those of [Config.Patience] and [Config.EvaluationLimit].
	defaultPatience = 250 * time.Millisecond
	defaultLimit    = 30 * time.Second
	// aside is how many resources a slow policy is evaluated for at a time.
	aside = 2
	// maxAside is how many evaluations by slow policies there are at a time, all policies together: each
	// may take the memory of one. Half as many slow policies don't notice it.
	maxAside = 32
	// maxStrikes is after how many evaluations in a row that reach the limit a policy is left alone,
	// and firstRest and longestRest for how long.
	maxStrikes  = 3
	firstRest   = time.Minute
	longestRest = time.Hour
	// quickAgain is after how many quick evaluations in a row a policy is no longer slow.
	quickAgain = 100
)

// pace is how fast a policy is. One that was slow once is evaluated aside: its resources wait in a
// queue of its own, and the workers that all policies share go on without it.
type pace struct {
	clock clock.PassiveClock
	queue *queue

	mu   sync.Mutex
	slow bool
	// runners are the goroutines that serve the queue.
	runners int
	// twins are what is in the queue, or evaluated aside, by the entry that they stand for.
	twins map[*resourceState]*resourceState
	// quick and strikes count evaluations in a row: quick ones, and those that reached the limit.
	quick, strikes int
	// struck are the entries of those that reached the limit.
	struck []*resourceState
	// until is the end of the rest of a policy that is left alone, which takes as long as rest. The
	// zero time stands for none.
	until time.Time
	rest  time.Duration
	// skipped are the entries that have to be evaluated once it is well.
	skipped map[*resourceState]bool
	// told reports whether users know of the rest.
	told bool
}

func newPace(c clock.PassiveClock) *pace {
	return &pace{clock: c, queue: newQueue(c, func() {}), twins: map[*resourceState]*resourceState{}, skipped: map[*resourceState]bool{}}
}

// isSlow reports whether evaluations go aside.
func (p *pace) isSlow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slow
}

// put has an entry evaluated aside, and reports whether another runner is to serve the queue. The
// caller starts it.
func (p *pace) put(rs *resourceState, urgent bool) (start bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	twin := p.twins[rs]
	if twin == nil {
		twin = &resourceState{kind: rs.kind, twinOf: rs}
		p.twins[rs] = twin
	}
	p.queue.add(twin, urgent)
	if p.runners < aside {
		p.runners++
		return true
	}
	return false
}

// leave notes that an evaluation for an entry, which has begun, goes on aside: the policy is slow.
func (p *pace) leave(rs *resourceState) (twin *resourceState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow, p.quick = true, 0
	twin = &resourceState{kind: rs.kind, twinOf: rs}
	p.twins[rs] = twin
	p.queue.adopt(twin)
	return twin
}

// next returns an entry for a runner, which ends if there is none.
func (p *pace) next() (twin *resourceState, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if twin, ok = p.queue.poll(); !ok {
		p.runners--
	}
	return twin, ok
}

// done gives back what next or leave returned. It reports whether the queue is to be served by another
// runner, and whether nothing is left to do.
func (p *pace) done(twin *resourceState) (start, idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.done(twin)
	if twin.queued.lane == laneNone {
		delete(p.twins, twin.twinOf)
	} else if p.runners < aside {
		p.runners++
		start = true
	}
	if p.quick >= quickAgain && len(p.twins) == 0 {
		p.slow = false
	}
	return start, len(p.twins) == 0
}

// load returns for how many resources the policy is still to be evaluated aside, and in which state it
// is; in none if it is as fast as others.
func (p *pace) load() (state string, resources int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.clock.Now().Before(p.until):
		state = slowLeftAlone
	case p.slow:
		state = slowAside
	}
	return state, len(p.twins)
}

// idle reports whether nothing is evaluated aside, or waits for it. Resources that the policy is left
// alone for don't: they have results that say so.
func (p *pace) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.twins) == 0
}

// took notes how long an evaluation for an entry took, and whether it reached the limit.
func (p *pace) took(rs *resourceState, length, patience time.Duration, limit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if length > patience {
		p.quick = 0
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

// reset is called with the mutex when the policy is well.
func (p *pace) reset() {
	p.strikes, p.struck, p.rest, p.until, p.told = 0, nil, 0, time.Time{}, false
}

// forgive ends a rest: the policy has changed.
func (p *pace) forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
	clear(p.skipped) // All resources are evaluated again.
}

// skip tells why an entry is not evaluated; the empty text if it is to be.
func (p *pace) skip(rs *resourceState, limit time.Duration) string {
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
func (p *pace) restText(limit time.Duration) string {
	return fmt.Sprintf("not evaluated: the last %d evaluations of this policy took longer than %v each; retried at %s. Have it call a service less often, or cache what it reads",
		p.strikes, limit, p.until.UTC().Format(time.RFC3339))
}

// afterRest returns what users don't know yet of a rest, and what is to be retried after one: a single
// entry while the policy has still to show that it is well, then all.
func (p *pace) afterRest(limit time.Duration) (text string, again []*resourceState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clock.Now().Before(p.until) {
		if !p.told {
			p.told, text = true, p.restText(limit)
		}
		return text, nil
	}
	if len(p.skipped) == 0 || p.strikes > 0 && len(p.twins) > 0 {
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
