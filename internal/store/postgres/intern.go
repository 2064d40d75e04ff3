// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

// unknownResource is the id of no resource.
const unknownResource int16 = -1

// resourceCache holds the ids of resources. They are made when the first object of
// a resource is written, and never removed. Safe for concurrent use.
type resourceCache struct {
	mu    sync.RWMutex
	ids   map[engine.Resource]int16
	names map[int16]engine.Resource
}

func (c *resourceCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids, c.names = nil, nil
}

func (c *resourceCache) id(name engine.Resource) (int16, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	id, ok := c.ids[name]
	return id, ok
}

func (c *resourceCache) name(id int16) (engine.Resource, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	name, ok := c.names[id]
	return name, ok
}

// find returns the id of a resource, unknownResource when it has none yet.
func (c *resourceCache) find(ctx context.Context, conn session, name engine.Resource) (int16, error) {
	if id, ok := c.id(name); ok {
		return id, nil
	}
	if !isText(string(name)) {
		return unknownResource, nil
	}
	if err := c.load(ctx, conn); err != nil {
		return 0, err
	}
	if id, ok := c.id(name); ok {
		return id, nil
	}
	return unknownResource, nil
}

// unknownSQL reports whether a resource has an id, and the state of the same snapshot.
const unknownSQL = `SELECT ` + stateColumns + `, (SELECT id FROM docket.resource WHERE name = $2)
FROM ` + newestCounter + ` r`

// resource returns the id of a resource, or unknownResource and a state in which there is no object of it. Nothing
// of that is remembered: another process may write the first object at any time.
func (e *Engine) resource(ctx context.Context, conn session, name engine.Resource) (int16, engine.State, error) {
	var state engine.State
	if id, ok := e.resources.id(name); ok {
		return id, state, nil
	}
	if !isText(string(name)) {
		name = "" // Which none has, either.
	}
	var id *int16
	if err := conn.QueryRow(ctx, unknownSQL, e.cluster, string(name)).Scan(append(stateFields(&state), &id)...); err != nil {
		return unknownResource, state, noCounter(err)
	}
	if id == nil {
		return unknownResource, state, nil
	}
	known, err := e.resources.find(ctx, conn, name)
	return known, state, err
}

// intern returns the id of a resource, which it makes if need be.
func (c *resourceCache) intern(ctx context.Context, conn session, name engine.Resource) (int16, error) {
	id, err := c.find(ctx, conn, name)
	if err != nil || id != unknownResource {
		return id, err
	}
	_, err = conn.Exec(ctx, `INSERT INTO docket.resource (name) VALUES ($1) ON CONFLICT DO NOTHING`, string(name))
	if err != nil {
		return 0, fmt.Errorf("make resource %s: %w", name, err)
	}
	if id, err = c.find(ctx, conn, name); err == nil && id == unknownResource {
		err = errors.New("resource " + string(name) + " vanished")
	}
	return id, err
}

// resolve returns the name of an id that a row holds.
func (c *resourceCache) resolve(ctx context.Context, conn session, id int16) (engine.Resource, error) {
	if name, ok := c.name(id); ok {
		return name, nil
	}
	if err := c.load(ctx, conn); err != nil {
		return "", err
	}
	if name, ok := c.name(id); ok {
		return name, nil
	}
	return "", fmt.Errorf("%w: resource %d has no name", engine.ErrCorrupt, id)
}

// load reads all resources: there are a handful.
func (c *resourceCache) load(ctx context.Context, conn session) error {
	rows, err := conn.Query(ctx, `SELECT id, name FROM docket.resource`)
	if err != nil {
		return fmt.Errorf("read resources: %w", err)
	}
	ids, names := map[engine.Resource]int16{}, map[int16]engine.Resource{}
	var id int16
	var name string
	_, err = pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		ids[engine.Resource(name)], names[id] = id, engine.Resource(name)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read resources: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids, c.names = ids, names
	return nil
}

// maxFacts is how many ids a generation of the cache of facts holds: 2 MB.
const maxFacts = 1 << 16

// allFacts takes the place of a number of removals where nothing is known: all
// facts are sent then, and removals don't matter.
const allFacts int64 = -1

// factCache knows verdicts and subjects that are in the database, so that they need not be sent again. Each removal of
// facts by any process raises revision.tidied and invalidates what caches knew before. Safe for concurrent use.
type factCache struct {
	mu sync.Mutex
	// tidied is the number of removals up to which the cache knows; when there is nothing in it, it doesn't matter.
	tidied int64
	// Ids move from old to recent when they are used; when recent is full it becomes old.
	recent, old map[int64]struct{}
}

// generation returns the number of removals to pass to has, allFacts for an empty cache.
func (c *factCache) generation() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.recent)+len(c.old) == 0 {
		return allFacts
	}
	return c.tidied
}

func (c *factCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent, c.old = nil, nil
}

// has reports whether a fact is in the database as of tidied removals.
func (c *factCache) has(tidied, id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tidied != tidied {
		return false
	}
	if _, ok := c.recent[id]; ok {
		return true
	}
	if _, ok := c.old[id]; ok {
		c.addLocked(id)
		return true
	}
	return false
}

// add notes facts that are in the database as of tidied removals. What is known as of fewer is forgotten.
func (c *factCache) add(tidied int64, ids []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tidied < c.tidied && len(c.recent) > 0 {
		return
	}
	if tidied != c.tidied {
		c.tidied, c.recent, c.old = tidied, nil, nil
	}
	for _, id := range ids {
		c.addLocked(id)
	}
}

func (c *factCache) addLocked(id int64) {
	if len(c.recent) >= maxFacts {
		c.recent, c.old = nil, c.recent
	}
	if c.recent == nil {
		c.recent = make(map[int64]struct{}, maxFacts/8)
	}
	c.recent[id] = struct{}{}
}
