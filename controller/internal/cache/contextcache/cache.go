// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/call"
)

// Cache is the context cache of a cluster. It implements [policy.Entries].
type Cache struct {
	config Config
	client *call.Client
	source objects.Source
	index  atomic.Pointer[index]
	// uses counts queries: the last one of a dataset tells how long ago it was used.
	uses    atomic.Int64
	tally   tally
	changes *changes
	kinds   map[string]*declared

	// planning, enforcing and reporting wake the planner and the writer of status.
	planning, enforcing, reporting *broadcast.Trigger

	mu sync.Mutex
	// inline are the entries that policies declare themselves, and revision counts the changes of them.
	inline   map[policy.Entry]*inlineEntry
	revision uint64
	// began is when the cache was started, ready whether it was ready once.
	began time.Time
	ready bool

	// datasets by where they come from, when they were trimmed last, and which entries have
	// metrics of their own. Only the planner uses them.
	datasets map[origin]*dataset
	trimmed  time.Time
	labeled  map[policy.Entry]bool
}

var _ policy.Entries = (*Cache)(nil)

// New returns a cache that does nothing until [Cache.Run].
func New(config Config) (*Cache, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	c := &Cache{
		config: config, client: call.NewClient(config.calls()),
		source:   &objects.Cluster{Client: config.Client, Served: config.Served, Clock: config.Clock},
		planning: broadcast.NewTrigger(), enforcing: broadcast.NewTrigger(), reporting: broadcast.NewTrigger(),
		inline: map[policy.Entry]*inlineEntry{}, datasets: map[origin]*dataset{},
		kinds: map[string]*declared{},
	}
	for _, kind := range entryKinds {
		c.kinds[kind] = newDeclared(c, kind)
	}
	c.index.Store(&index{changed: make(chan struct{})})
	c.changes = newChanges(config.Clock, func(d *dataset) []policy.Entry { return c.index.Load().names[d] })
	return c, nil
}

// Run keeps the data until ctx is done, and returns nil then. It is called once.
func (c *Cache) Run(ctx context.Context) error {
	c.mu.Lock()
	c.began = c.config.Clock.Now()
	c.mu.Unlock()
	var beside sync.WaitGroup
	beside.Go(func() { c.changes.run(ctx) })
	beside.Go(func() { c.watchFields(ctx) })
	defer beside.Wait()
	unsubscribe := c.config.Served.Subscribe(c.replan)
	defer unsubscribe()
	defer c.stop()
	ticker := c.config.Clock.NewTicker(tickInterval)
	defer ticker.Stop()
	c.replan()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.planning.C():
			c.plan(ctx)
		case <-c.enforcing.C():
			c.enforce(ctx)
		case <-ticker.C():
			c.tick(ctx)
		}
	}
}

// Want says which entries the current policies use. Those with a name may be among them; only what
// policies declare themselves is kept for their sake. It returns at once.
func (c *Cache) Want(entries []policy.Entry) {
	c.mu.Lock()
	maps.DeleteFunc(c.inline, func(_ policy.Entry, e *inlineEntry) bool { return e.declared })
	for _, id := range entries {
		if id.Kind == "" {
			c.inline[id] = &inlineEntry{declared: true}
		}
	}
	c.revision++
	c.mu.Unlock()
	c.replan()
}

// Subscribe has changed called when data have changed, or an entry has become valid or invalid. The
// entries are named in all ways in which policies may refer to them, [policy.AnyName] included.
// Changes are gathered for some 200 ms. It is urgent unless just the status of resources changed.
// One goroutine calls; it must return quickly. It ends when the returned function is called.
func (c *Cache) Subscribe(changed func(entries []policy.Entry, urgent bool)) (unsubscribe func()) {
	return c.changes.listeners.Subscribe(changed)
}

// replan wakes the planner, which makes a new index.
func (c *Cache) replan() { c.planning.Fire() }

// enforceSoon wakes the planner to enforce the memory limit, and to load evicted data that were asked
// for.
func (c *Cache) enforceSoon() {
	if c.config.MemoryLimit > 0 {
		c.enforcing.Fire()
	}
}

// statusChanged wakes the writer of status.
func (c *Cache) statusChanged() { c.reporting.Fire() }
