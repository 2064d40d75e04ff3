// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync"

	"github.com/docket-project/docket/internal/store/engine"
)

// readers are the lists and watches of this process that read a snapshot page by page. The zero value has none. Safe
// for concurrent use.
type readers struct {
	mu  sync.Mutex
	all map[*reader]struct{}
}

// reader is one of them, for one goroutine.
type reader struct {
	readers *readers
	at      engine.Revision
}

// needs keeps history back from a revision until the reader ends.
func (r *reader) needs(at engine.Revision) {
	if r.at != 0 {
		return
	}
	r.readers.mu.Lock()
	defer r.readers.mu.Unlock()
	if r.readers.all == nil {
		r.readers.all = map[*reader]struct{}{}
	}
	r.at = at
	r.readers.all[r] = struct{}{}
}

func (r *reader) end() {
	if r.at == 0 {
		return
	}
	r.readers.mu.Lock()
	defer r.readers.mu.Unlock()
	delete(r.readers.all, r)
}

// lowest is the lowest revision that is needed, 0 for none.
func (r *readers) lowest() engine.Revision {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lowest engine.Revision
	for reader := range r.all {
		if lowest == 0 || reader.at < lowest {
			lowest = reader.at
		}
	}
	return lowest
}

// maxCounts is how many places in lists are remembered: each belongs to a client that is reading pages.
const maxCounts = 1024

// pageCounts remembers how many objects were left after the pages that were handed out, so that only the first page of
// a list has to count them: counting costs as much as the rest of the list is long. Snapshots don't change, so what it
// holds is always right.
type pageCounts struct {
	mu     sync.Mutex
	counts map[countKey]int64
}

// countKey is a place in a snapshot: behind a key.
type countKey struct {
	resource engine.Resource
	prefix   string
	after    string
	at       engine.Revision
}

// get returns how many objects come after a place, -1 for too many to count, if it was counted.
func (c *pageCounts) get(key countKey) (count int64, counted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count, counted = c.counts[key]
	return count, counted
}

func (c *pageCounts) put(key countKey, count int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil || len(c.counts) >= maxCounts {
		// Clients in the middle of a list make the store count once more.
		c.counts = map[countKey]int64{}
	}
	c.counts[key] = count
}
