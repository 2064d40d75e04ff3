// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"container/list"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/internal/store/engine"
)

// objectFactor estimates how much larger a decoded object is than its JSON.
const objectFactor = 4

// objectCache keeps the least recently used decoded objects out, so that the rest is worth at most limit bytes. An
// object is served only at the very revision that was read from the database, so the cache can't be stale. Cached
// objects are never changed.
type objectCache struct {
	limit int64

	mu      sync.Mutex
	entries map[cacheKey]*list.Element
	// order holds *cacheEntry, the most recently used first.
	order *list.List
	bytes int64
}

type cacheKey struct {
	resource engine.Resource
	key      string
}

type cacheEntry struct {
	key      cacheKey
	revision engine.Revision
	object   runtime.Object
	cost     int64
}

type cacheStats struct {
	objects int
	bytes   int64
}

func newObjectCache(limit CacheBytes) *objectCache {
	return &objectCache{limit: int64(limit), entries: map[cacheKey]*list.Element{}, order: list.New()}
}

// get returns the object that was written at revision, or nil.
func (c *objectCache) get(key cacheKey, revision engine.Revision) runtime.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[key]
	if !ok {
		return nil
	}
	entry := element.Value.(*cacheEntry)
	if entry.revision != revision {
		return nil
	}
	c.order.MoveToFront(element)
	return entry.object
}

// offer is put as long as nothing has to leave for it: a list of everything
// must not push out what is asked for again and again.
func (c *objectCache) offer(key cacheKey, revision engine.Revision, object runtime.Object, size int32) {
	c.mu.Lock()
	room := c.limit - c.bytes
	c.mu.Unlock()
	if cost(key, size) <= room {
		c.put(key, revision, object, size)
	}
}

func cost(key cacheKey, size int32) int64 {
	return objectFactor*int64(size) + int64(len(key.key)) + 200
}

// put keeps an object of size bytes of JSON. A newer one of the key stays.
func (c *objectCache) put(key cacheKey, revision engine.Revision, object runtime.Object, size int32) {
	entry := &cacheEntry{key: key, revision: revision, object: object, cost: cost(key, size)}
	if entry.cost > c.limit/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[key]; ok {
		if element.Value.(*cacheEntry).revision >= revision {
			return
		}
		c.removeLocked(element)
	}
	c.entries[key] = c.order.PushFront(entry)
	c.bytes += entry.cost
	for c.bytes > c.limit {
		c.removeLocked(c.order.Back())
	}
}

// clear forgets everything.
func (c *objectCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.bytes = map[cacheKey]*list.Element{}, 0
	c.order.Init()
}

func (c *objectCache) stats() cacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cacheStats{objects: len(c.entries), bytes: c.bytes}
}

func (c *objectCache) removeLocked(element *list.Element) {
	entry := c.order.Remove(element).(*cacheEntry)
	delete(c.entries, entry.key)
	c.bytes -= entry.cost
}
