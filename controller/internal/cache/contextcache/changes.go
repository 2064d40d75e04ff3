// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
)

// gather is how long changes are collected before the listeners are called.
const gather = 200 * time.Millisecond

// changes collects what has changed, and calls the listeners.
type changes struct {
	clock clock.WithTicker
	// names returns the entries that show a dataset.
	names func(*dataset) []policy.Entry
	noted *broadcast.Trigger
	// listeners are called with entries and whether the change is urgent.
	listeners broadcast.Signal[func([]policy.Entry, bool)]

	mu sync.Mutex
	// datasets and entries have changed. The value reports whether that is urgent.
	datasets map[*dataset]bool
	entries  map[policy.Entry]bool
}

func newChanges(c clock.WithTicker, names func(*dataset) []policy.Entry) *changes {
	return &changes{
		clock: c, names: names, noted: broadcast.NewTrigger(),
		datasets: map[*dataset]bool{}, entries: map[policy.Entry]bool{},
	}
}

// note collects a change of data.
func (c *changes) note(d *dataset, change table.Change) {
	if change == table.None {
		return
	}
	c.mu.Lock()
	c.datasets[d] = c.datasets[d] || change == table.Content
	c.mu.Unlock()
	c.noted.Fire()
}

// addEntries collects entries that have become something else.
func (c *changes) addEntries(ids ...policy.Entry) {
	c.mu.Lock()
	for _, id := range ids {
		c.entries[id] = true
	}
	c.mu.Unlock()
	c.noted.Fire()
}

// run calls the listeners until ctx is done.
func (c *changes) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.noted.C():
		}
		timer := c.clock.NewTimer(gather)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		c.notify()
	}
}

// notify calls the listeners with what was collected.
func (c *changes) notify() {
	c.mu.Lock()
	datasets, entries := c.datasets, c.entries
	c.datasets, c.entries = map[*dataset]bool{}, map[policy.Entry]bool{}
	c.mu.Unlock()
	for d, urgent := range datasets {
		for _, id := range c.names(d) {
			entries[id] = entries[id] || urgent
		}
	}
	// Urgent changes are announced separately: one busy status must not make everything urgent.
	byUrgency := map[bool][]policy.Entry{}
	for id, urgent := range entries {
		byUrgency[urgent] = append(byUrgency[urgent], id)
	}
	for _, urgent := range []bool{true, false} {
		list := withAnyName(byUrgency[urgent])
		if len(list) == 0 {
			continue
		}
		for _, changed := range c.listeners.Subscribers() {
			changed(list, urgent)
		}
	}
}

// withAnyName adds all references by which policies may mean the entries: an object by either kind, and
// by a name that is computed.
func withAnyName(ids []policy.Entry) []policy.Entry {
	all := map[policy.Entry]bool{}
	for _, id := range ids {
		if id.Kind == "" {
			all[id] = true
			continue
		}
		for _, kind := range entryKinds {
			all[policy.Entry{Kind: kind, Name: id.Name}] = true
			all[policy.Entry{Kind: kind, Name: policy.AnyName}] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}
