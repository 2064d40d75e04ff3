// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// tickInterval is the time between two calls of Cache.tick.
	tickInterval = time.Second
	// keepUndeclared is how long an entry that no policy is known to use is kept after its last query;
	// maxUndeclared is how many such entries there may be.
	keepUndeclared = 10 * time.Minute
	// maxListing is how long a list after an interrupted watch may take before the previous data are
	// considered out of date.
	maxListing = 30 * time.Second
	// trimInterval is how long computed values are kept without being read.
	trimInterval  = 2 * time.Minute
	maxUndeclared = 1000
)

// plan makes the next index, starts loading what is missing, and drops the data that no entry uses.
func (c *Cache) plan(ctx context.Context) {
	catalog := c.source.Kinds()
	next := &index{
		entries: map[policy.Entry]*entry{}, names: map[*dataset][]policy.Entry{},
		kinds: map[string]kindState{}, changed: make(chan struct{}),
	}
	if catalog != nil {
		for kind, declared := range c.kinds {
			declared.follow(ctx, catalog)
			next.kinds[kind] = declared.state()
		}
	}
	before := c.index.Load()
	used := map[*dataset]bool{}
	for _, definition := range c.definitions(next, before) {
		e := c.resolve(ctx, catalog, definition)
		next.entries[definition.id] = e
		if known := before.entries[definition.id]; e.warning != "" && (known == nil || known.warning != e.warning) {
			klog.FromContext(ctx).Info("Warning: "+e.warning, "entry", title(definition.id))
		}
		if e.data != nil {
			used[e.data] = true
			next.names[e.data] = append(next.names[e.data], definition.id)
		}
	}
	changed := before.compare(next)
	c.index.Store(next)
	close(before.changed)
	for key, d := range c.datasets {
		if !used[d] {
			delete(c.datasets, key)
			d.stop()
		}
	}
	c.changes.addEntries(changed...)
	c.statusChanged()
	c.observe()
}

// definitions returns those of all entries there should be.
func (c *Cache) definitions(next, before *index) []*definition {
	var list []*definition
	for _, kind := range entryKinds {
		for _, d := range c.kinds[kind].All() {
			list = append(list, d.definition)
		}
	}
	c.mu.Lock()
	next.revision = c.revision
	inline := slices.Collect(maps.Keys(c.inline))
	c.mu.Unlock()
	for _, id := range inline {
		if known := before.entries[id]; known != nil {
			list = append(list, known.definition)
		} else {
			list = append(list, defineInline(id, c.config.Engine))
		}
	}
	return list
}

// resolve finds the data of a definition, and starts them if they are new.
func (c *Cache) resolve(ctx context.Context, all *served.Catalog, d *definition) *entry {
	e := &entry{definition: d, err: d.err}
	if d.err != nil || all == nil && (d.resource != nil || d.path != nil) {
		return e
	}
	var from origin
	if from, e.warning, e.err = d.locate(all); e.err != nil {
		return e
	}
	if e.data = c.datasets[from]; e.data == nil {
		title := title(d.id)
		if from.call == nil {
			title = from.selection.String()
		}
		e.data = newDataset(c, title, from)
		c.datasets[from] = e.data
		e.data.start(ctx)
		klog.FromContext(ctx).V(2).Info("The context cache loads data", "data", title)
	}
	return e
}

func (c *Cache) stop() {
	for _, declared := range c.kinds {
		declared.stop()
	}
	for _, d := range c.datasets {
		d.stop()
	}
	c.config.Metrics.forget()
}

// tick does what is due by the clock and not by an event.
func (c *Cache) tick(ctx context.Context) {
	now := c.config.Clock.Now()
	for _, d := range c.datasets {
		c.updateState(ctx, d, now)
	}
	index := c.index.Load()
	for kind, state := range index.kinds {
		if !state.decided && c.kinds[kind].state().decided {
			c.replan()
		}
	}
	if c.forgetInline(index, now) {
		c.replan()
	}
	if now.Sub(c.trimmed) >= trimInterval {
		c.trimmed = now
		for _, d := range c.datasets {
			if s := d.state.Load(); s.data != nil {
				s.data.Trim()
			}
		}
	}
	c.enforce(ctx)
	c.statusChanged()
	c.observe()
}

// updateState marks data as decided or stale, or starts loading them, when the time for it has come.
func (c *Cache) updateState(ctx context.Context, d *dataset, now time.Time) {
	s := d.state.Load()
	switch s.phase {
	case loading:
		if !s.decided && d.worker.Decided() {
			d.set(func(s *state) { s.decided = true })
		}
	case loaded:
		if began := d.listingSince.Load(); s.err == nil && began != 0 && now.Sub(time.Unix(0, began)) > min(maxListing, c.config.MaxStale) {
			d.attemptedSince(errListing, time.Unix(0, began))
			s = d.state.Load()
		}
		if s.err != nil && !s.stale && now.Sub(s.since) > c.config.MaxStale {
			klog.FromContext(ctx).Error(s.err, "Data of the context cache are too old to be served", "data", d.title)
			d.set(func(s *state) { s.stale = s.err != nil })
		}
	case tooLarge:
		if !now.Before(d.retryAt) {
			d.start(ctx)
		}
	case evicted: // Until somebody asks for it.
	}
}

// forgetInline removes the undeclared entries whose last query is too long ago, and reports whether there were any.
func (c *Cache) forgetInline(index *index, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := len(c.inline)
	for id, known := range c.inline {
		if known.declared {
			continue
		}
		if e := index.entries[id]; e != nil && e.data != nil {
			if used := e.data.used.Load(); used != known.used {
				known.used, known.at = used, now
			}
		}
		if now.Sub(known.at) > keepUndeclared {
			delete(c.inline, id)
		}
	}
	if count == len(c.inline) {
		return false
	}
	c.revision++
	return true
}

// addInline keeps an entry that a query names although no policy is known to declare it.
func (c *Cache) addInline(id policy.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inline[id] != nil {
		return nil
	}
	undeclared := 0
	for _, known := range c.inline {
		if !known.declared {
			undeclared++
		}
	}
	if undeclared >= maxUndeclared {
		return fmt.Errorf("more than %d entries that no policy declares were asked for", maxUndeclared)
	}
	c.inline[id] = &inlineEntry{at: c.config.Clock.Now()}
	c.revision++
	c.replan()
	return nil
}
