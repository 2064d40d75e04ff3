// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"slices"
	"sync"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

// changes gathers changed entries of the context cache for the planner.
type changes struct {
	mu sync.Mutex
	// entries has the value true for an entry with an urgent change.
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

// entriesChanged implements [Scanner.EntriesChanged].
func (p *planner) entriesChanged(entries []policy.Entry, urgent bool) {
	if len(entries) == 0 {
		return
	}
	p.changes.add(entries, urgent)
	p.planning.Fire()
}

// wanted says when a policy is to be evaluated again.
type wanted struct {
	// at is when; zero for never.
	at time.Time
	// last is when it was last evaluated again.
	last time.Time
}

// within schedules an evaluation of the policy an interval after the last one, or now if that has passed.
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

// renew queues an evaluation of the policies that read changed entries, and reports whether there are any. The
// planner calls it.
func (p *planner) renew() (changed bool) {
	if !p.first.done {
		return false // Otherwise a stream of changes could keep the first scan from completing.
	}
	now := p.config.Clock.Now()
	entries := p.changes.take()
	for _, state := range p.evaluator.policies {
		if state.current == nil || state.current.admission {
			state.wanted.at = time.Time{}
			continue
		}
		p.want(state, entries, now)
		if !state.wanted.due(now) || p.evaluating(state.current.revision) {
			continue
		}
		state.wanted = wanted{last: now}
		state.invalidate()
		entryRescans.Inc()
		changed = true
	}
	return changed
}

// want schedules the evaluation of a policy if it reads any of the entries.
func (p *planner) want(state *policyState, entries map[policy.Entry]bool, now time.Time) {
	if len(entries) == 0 {
		return
	}
	reads := state.item.Policy.Entries()
	for entry, urgent := range entries {
		if !slices.ContainsFunc(reads, func(read policy.Entry) bool { return readsEntry(read, entry) }) {
			continue
		}
		interval := p.config.EntryInterval
		if !urgent {
			interval = max(interval, lazyEntryInterval)
		}
		state.wanted.within(interval, now)
	}
}

// wantsRenewal reports whether the evaluation of any policy is due because of changed entries.
func (p *planner) wantsRenewal() bool {
	now := p.config.Clock.Now()
	for _, state := range p.evaluator.policies {
		if state.wanted.due(now) {
			return true
		}
	}
	return false
}

// readsEntry reports whether read may be the entry that changed. An object of either kind can stand in for
// one of the other kind, and a computed name may be any name.
func readsEntry(read, changed policy.Entry) bool {
	if read.Kind == "" || changed.Kind == "" {
		return read == changed
	}
	return read.Name == changed.Name || read.Name == policy.AnyName || changed.Name == policy.AnyName
}

// evaluating reports whether the evaluation of a revision is incomplete.
func (p *planner) evaluating(r *policyRevision) bool {
	if p.inventory.queue.idle() {
		return false
	}
	for _, k := range p.inventory.all() {
		if k.behind(r) {
			return true
		}
	}
	return false
}

// behind reports whether the evaluation of a revision is incomplete for the kind.
func (k *kind) behind(r *policyRevision) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.revisions.has(r) {
		return false
	}
	// Most resources share one of few sets.
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
