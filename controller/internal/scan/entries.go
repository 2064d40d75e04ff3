// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"slices"
	"sync"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

// changes gathers entries of the context cache that have changed, until the planner looks.
type changes struct {
	mu sync.Mutex
	// entries have true if one change was urgent.
	entries map[policy.Entry]bool
}

func (c *changes) add(entries []policy.Entry, urgent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[policy.Entry]bool{}
	}
	for _, entry := range entries {
		c.entries[entry] = c.entries[entry] || urgent
	}
}

func (c *changes) take() map[policy.Entry]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.entries
	c.entries = nil
	return taken
}

// EntriesChanged has the policies that read one of these entries evaluated again for all their
// resources, and no others. Results stay until there are new ones. It is done at once, but for each
// policy not before its evaluation for the change before is over, and not before
// [Config.EntryInterval] has passed since that began, a minute if the change is not urgent, and not
// before the first scan is over.
// Results that come from admission requests stay. It returns at once.
func (s *Scanner) EntriesChanged(entries []policy.Entry, urgent bool) {
	if len(entries) == 0 {
		return
	}
	s.changes.add(entries, urgent)
	s.planning.Fire()
}

// wanted says when a policy is to be evaluated again.
type wanted struct {
	// at is zero for never.
	at time.Time
	// last is when it was.
	last time.Time
}

// not later than the interval after the last time.
func (w *wanted) within(interval time.Duration, now time.Time) {
	at := w.last.Add(interval)
	if at.Before(now) {
		at = now
	}
	if w.at.IsZero() || at.Before(w.at) {
		w.at = at
	}
}

func (w *wanted) due(now time.Time) bool { return !w.at.IsZero() && !now.Before(w.at) }

// renew has policies evaluated again that read what has changed, and returns whether there are
// any. The planner calls it.
func (s *Scanner) renew() (changed bool) {
	if !s.firstScanDone {
		return false // A stream of changes must not keep the first scan from its end.
	}
	now := s.config.Clock.Now()
	entries := s.changes.take()
	for _, state := range s.policies {
		if state.current == nil || state.current.admission {
			state.wanted.at = time.Time{}
			continue
		}
		s.want(state, entries, now)
		if !state.wanted.due(now) || s.evaluating(state.current.revision) {
			continue
		}
		state.wanted = wanted{last: now}
		state.invalidate()
		entryRescans.Inc()
		changed = true
	}
	return changed
}

// want notes when a policy is to be evaluated again if it reads any of the entries.
func (s *Scanner) want(state *policyState, entries map[policy.Entry]bool, now time.Time) {
	if len(entries) == 0 {
		return
	}
	reads := state.item.Policy.Entries()
	for entry, urgent := range entries {
		if !slices.ContainsFunc(reads, func(read policy.Entry) bool { return readsEntry(read, entry) }) {
			continue
		}
		interval := s.config.EntryInterval
		if !urgent {
			interval = max(interval, lazyEntryInterval)
		}
		state.wanted.within(interval, now)
	}
}

// wantsRenewal reports whether it is time to look at policies that read what has changed.
func (s *Scanner) wantsRenewal() bool {
	now := s.config.Clock.Now()
	for _, state := range s.policies {
		if state.wanted.due(now) {
			return true
		}
	}
	return false
}

// readsEntry reports whether a policy that reads an entry reads the one that changed. Objects of both
// kinds serve for each other, also where the name is computed.
func readsEntry(read, changed policy.Entry) bool {
	if read.Kind == "" || changed.Kind == "" {
		return read == changed
	}
	return read.Name == changed.Name || read.Name == policy.AnyName || changed.Name == policy.AnyName
}

// evaluating reports whether a revision has still to be evaluated for any resource.
func (s *Scanner) evaluating(r *policyRevision) bool {
	if s.queue.idle() {
		return false
	}
	for _, k := range s.allKinds() {
		if k.behind(r) {
			return true
		}
	}
	return false
}

// behind reports whether there is a resource that a revision has still to be evaluated for.
func (k *kind) behind(r *policyRevision) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.revisions.has(r) {
		return false
	}
	// Most entries share one of few.
	has := map[*revisionSet]bool{nil: false}
	for _, names := range k.objects {
		for _, rs := range names {
			if rs.deleted {
				continue
			}
			known, ok := has[rs.done]
			if !ok {
				known = rs.done.has(r)
				has[rs.done] = known
			}
			if !known {
				return true
			}
		}
	}
	return false
}
