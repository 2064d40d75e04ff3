// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"time"
)

// changes are what a writer has not taken yet.
type changes struct {
	// reports have changed, or are no more.
	reports map[reportKey]span
	moves   []move
	// gone says why reports are no more.
	gone map[reportKey]cause
	// shrunk groups may have too many chunks.
	shrunk map[*group]struct{}
}

// span is from the first to the last of several changes.
type span struct {
	first, last time.Time
}

// move says that a result went from a report to another: whoever reads in between should
// rather see it twice than not at all.
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

// markChanged notes that a chunk has changed.
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

// assignChunk puts a new record, or one that does not fit in the chunk from, where there is room.
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

// addToChunk puts a record in a chunk.
func (l *Layout) addToChunk(r *record, c *chunk) {
	c.add(r)
	l.chunks[c.key] = c
	l.counts.add(r, r.owner.shown(r.outcome), 1)
	l.markChanged(c)
}

// removeFromChunk takes a record out of its chunk, which goes if it is empty then.
func (l *Layout) removeFromChunk(r *record) {
	c, g := r.chunk, r.chunk.group
	c.remove(r)
	l.counts.add(r, r.owner.shown(r.outcome), -1)
	l.markChanged(c)
	l.changes.shrunk[g] = struct{}{}
	if len(c.records) > 0 {
		return
	}
	g.removeChunk(c)
	delete(l.chunks, c.key)
	l.changes.gone[c.key] = noResults
	if !r.owner.presented {
		l.changes.gone[c.key] = noPolicyAnyMore
	}
	if len(g.chunks) == 0 {
		delete(l.groups, g.key)
		delete(l.changes.shrunk, g)
	}
}

// group returns the group that a record belongs in.
func (l *Layout) group(r *record) *group {
	key := groupKey{namespace: r.subject.reference.Namespace}
	if l.options.Split {
		key.owner = r.owner
	}
	g := l.groups[key]
	if g == nil {
		g = &group{key: key, maxResults: l.options.MaxResults}
		g.capacity = l.options.MaxBytes - l.overhead(g)
		l.groups[key] = g
	}
	return g
}

// compactChunk moves the results of one chunk that its group does not need into the others. It
// reports whether it did; one at a time keeps the number of writes small.
func (l *Layout) compactChunk() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.compactOne()
}

// sparse reports whether dissolve has something to do.
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
			// Many large results: half of the bytes, but not in pieces that fit.
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
