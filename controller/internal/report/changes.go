// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"time"
)

// changes has the changes of the layout that the writer has not taken yet.
type changes struct {
	// reports are those that have changed or no longer exist.
	reports map[reportKey]span
	moves   []move
	// gone says why reports no longer exist.
	gone map[reportKey]cause
	// shrunk are groups that may have too many chunks.
	shrunk map[*group]struct{}
}

// span is the time from the first to the last of several changes.
type span struct {
	first, last time.Time
}

// move says that a result was moved from one report to another. The writer writes to before from, so that
// a reader in between sees the result twice rather than not at all.
type move struct {
	from, to reportKey
}

func newChanges() changes {
	return changes{reports: map[reportKey]span{}, gone: map[reportKey]cause{}, shrunk: map[*group]struct{}{}}
}

// takeChanges returns all changes since the last call.
func (l *Layout) takeChanges() changes {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.changes
	l.changes = newChanges()
	l.changes.shrunk, taken.shrunk = taken.shrunk, nil
	return taken
}

// markChanged records that a chunk has changed.
func (l *Layout) markChanged(c *chunk) {
	now := l.options.Clock.Now()
	times, known := l.changes.reports[c.key]
	if !known {
		times.first = now
		l.changed.Fire()
	}
	times.last = now
	l.changes.reports[c.key] = times
}

// assignChunk puts a record into a chunk of its group that has room. from is the chunk that it was in and
// does not fit into any more; nil for a new record.
func (l *Layout) assignChunk(r *record, from *chunk) {
	g := l.group(r)
	c := g.chunkFor(r, from)
	if c == nil {
		c = g.chunkNumber(g.freeNumber())
	}
	l.addToChunk(r, c)
	if from != nil {
		l.changes.moves = append(l.changes.moves, move{from: from.key, to: c.key})
	}
}

// addToChunk adds a record to a chunk.
func (l *Layout) addToChunk(r *record, c *chunk) {
	c.add(r)
	l.chunks[c.key] = c
	l.counts.add(r, r.shown(), 1)
	l.markChanged(c)
}

// removeFromChunk removes a record from its chunk, and the chunk if it is empty then.
func (l *Layout) removeFromChunk(r *record) {
	c, g := r.chunk, r.chunk.group
	c.remove(r)
	l.counts.add(r, r.shown(), -1)
	l.markChanged(c)
	l.changes.shrunk[g] = struct{}{}
	if len(c.records) > 0 {
		return
	}
	g.removeChunk(c)
	delete(l.chunks, c.key)
	l.changes.gone[c.key] = noResults
	if !r.owner().presented {
		l.changes.gone[c.key] = noPolicyAnyMore
	}
	if len(g.chunks) == 0 {
		delete(l.groups, g.key)
		delete(l.changes.shrunk, g)
	}
}

// group returns the group of a record.
func (l *Layout) group(r *record) *group {
	key := groupKey{namespace: r.subject.namespace()}
	if l.options.Split {
		key.owner = r.owner()
	}
	g := l.groups[key]
	if g == nil {
		g = &group{key: key, instance: l.options.Instance, maxResults: l.options.MaxResults}
		g.capacity = l.options.MaxBytes - l.overhead(g)
		l.groups[key] = g
	}
	return g
}

// compactChunk moves the results of one chunk that its group does not need into other chunks, and reports
// whether there was one. Doing one at a time keeps the number of writes small.
func (l *Layout) compactChunk() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.compactOne()
}

// sparse reports whether compactChunk has something to do.
func (l *Layout) sparse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for g := range l.changes.shrunk {
		if g.sparse() {
			return true
		}
		delete(l.changes.shrunk, g)
	}
	return false
}

func (l *Layout) compactOne() bool {
	for g := range l.changes.shrunk {
		if !g.sparse() {
			delete(l.changes.shrunk, g)
			continue
		}
		l.moveRecords(g.emptiest())
		return true
	}
	return false
}

func (l *Layout) moveRecords(c *chunk) {
	for _, r := range slices.Clone(c.records) {
		to := c.group.chunkFor(r, c)
		if to == nil {
			// The bytes would fit, but not these large results.
			delete(l.changes.shrunk, c.group)
			return
		}
		l.removeFromChunk(r)
		if len(c.records) == 0 {
			l.changes.gone[c.key] = merged
		}
		l.addToChunk(r, to)
		l.changes.moves = append(l.changes.moves, move{from: c.key, to: to.key})
	}
}

// size returns the number of results.
func (l *Layout) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, count := range l.counts.total {
		n += count
	}
	return n
}
