// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"time"
)

// reportKey identifies a report of a layout. Without a namespace, the report is about cluster-scoped subjects.
type reportKey struct {
	namespace, name string
}

func (k reportKey) String() string {
	if k.namespace == "" {
		return k.name
	}
	return k.namespace + "/" + k.name
}

// groupKey identifies the reports on one policy in one namespace. In the layout with one report per namespace,
// owner is nil.
type groupKey struct {
	owner     *policyState
	namespace string
}

// group is what would be one report if reports were not bounded: one or more chunks.
type group struct {
	key groupKey
	// instance is [Options.Instance].
	instance string
	arena    *arena
	// capacity is the size of the results that fit into a chunk, in bytes.
	capacity, maxResults int
	// chunks are sorted by number. The numbers of chunks that became empty are missing.
	chunks []*chunk
	// open is the index of the first chunk that may have room.
	open         int
	count, bytes int
}

// chunk is a report with results.
type chunk struct {
	key   reportKey
	group *group
	self  handle
	// number, from 0, is unique in the group.
	number  int
	records []handle
	// bytes is an upper bound of the size of the results as JSON, with the presentations of their policies.
	bytes int
	// owners counts the results of each policy; nil in split reports, which have one policy.
	owners map[*policyState]int
}

// smallest is roughly the size of the smallest result, in bytes.
const smallest = frame + 100

func (c *chunk) full() bool {
	return len(c.records) >= c.group.maxResults || c.bytes+smallest > c.group.capacity
}

// cost returns the number of bytes that a record adds to the chunk.
func (c *chunk) cost(r *record) int {
	owner := r.owner()
	cost := c.group.arena.size(r) + owner.size
	if c.owners != nil && c.owners[owner] == 0 {
		cost += c.listing(owner)
	}
	return cost
}

// listing returns the number of bytes that a policy adds to a chunk that lists its policies.
func (c *chunk) listing(owner *policyState) int {
	if c.owners == nil {
		return 0
	}
	return len(owner.id.String()) + quoted(listedSource(owner.presentation.Source))
}

func (c *chunk) fits(r *record) bool {
	return len(c.records) < c.group.maxResults && (len(c.records) == 0 || c.bytes+c.cost(r) <= c.group.capacity)
}

func (c *chunk) add(h handle) {
	r := c.group.arena.records.at(h)
	cost := c.cost(r)
	r.chunk, r.index = c.self, uint16(len(c.records))
	c.records = append(c.records, h)
	c.grow(cost)
	c.group.count++
	if c.owners != nil {
		c.owners[r.owner()]++
	}
}

// remove leaves the chunk in its group even if it is empty; see [Layout.removeFromChunk].
func (c *chunk) remove(r *record) {
	last := len(c.records) - 1
	c.records[r.index] = c.records[last]
	c.at(int(r.index)).index = r.index
	c.records = c.records[:last]
	r.chunk = 0
	owner := r.owner()
	cost := c.group.arena.size(r) + owner.size
	if c.owners != nil {
		if c.owners[owner]--; c.owners[owner] == 0 {
			delete(c.owners, owner)
			cost += c.listing(owner)
		}
	}
	c.grow(-cost)
	c.group.count--
	c.group.reopen(c)
}

// at returns a record by its index.
func (c *chunk) at(index int) *record { return c.group.arena.records.at(c.records[index]) }

// grow records that the results have grown by a number of bytes.
func (c *chunk) grow(by int) {
	c.bytes += by
	c.group.bytes += by
}

func (g *group) position(number int) (int, bool) {
	return slices.BinarySearchFunc(g.chunks, number, func(c *chunk, number int) int { return cmp.Compare(c.number, number) })
}

// reopen records that c may have room again.
func (g *group) reopen(c *chunk) {
	if at, ok := g.position(c.number); ok {
		g.open = min(g.open, at)
	}
}

// chunkFor returns the first chunk, other than except, into which a record fits; nil if there is none.
func (g *group) chunkFor(r *record, except *chunk) *chunk {
	for at := g.open; at < len(g.chunks); at++ {
		c := g.chunks[at]
		if at == g.open && c.full() {
			g.open++
			continue
		}
		if c != except && c.fits(r) {
			return c
		}
	}
	return nil
}

// chunkNumber returns the chunk with a number, and adds it if there is none.
func (g *group) chunkNumber(number int) *chunk {
	at, ok := g.position(number)
	if ok {
		return g.chunks[at]
	}
	c := &chunk{group: g, number: number, key: reportKey{namespace: g.key.namespace}}
	if g.key.owner == nil {
		c.owners = map[*policyState]int{}
	}
	c.key.name = g.name(number)
	c.self = g.arena.chunks.add(c)
	g.chunks = slices.Insert(g.chunks, at, c)
	g.open = min(g.open, at)
	return c
}

func (g *group) name(number int) string {
	if g.key.owner == nil {
		return reportName(g.instance, noPolicy, g.key.namespace, number)
	}
	return reportName(g.instance, g.key.owner.id, g.key.namespace, number)
}

// freeNumber returns the lowest number that is not used by a chunk.
func (g *group) freeNumber() int {
	for at, c := range g.chunks {
		if c.number != at {
			return at
		}
	}
	return len(g.chunks)
}

// removeChunk removes an empty chunk.
func (g *group) removeChunk(c *chunk) {
	if at, ok := g.position(c.number); ok {
		g.chunks = slices.Delete(g.chunks, at, at+1)
		g.arena.chunks.drop(c.self)
		if g.open > at {
			g.open--
		}
	}
}

// sparse reports whether half of the chunks would suffice.
func (g *group) sparse() bool {
	half := len(g.chunks) / 2
	return half > 0 && g.count <= half*g.maxResults && g.bytes <= half*g.capacity
}

// emptiest returns the chunk with the fewest results; if there are several, the last of them.
func (g *group) emptiest() *chunk {
	best := g.chunks[0]
	for _, c := range g.chunks[1:] {
		if len(c.records) <= len(best.records) {
			best = c
		}
	}
	return best
}

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
func (l *Layout) assignChunk(h handle, from *chunk) {
	r := l.arena.records.at(h)
	g := l.group(r)
	c := g.chunkFor(r, from)
	if c == nil {
		c = g.chunkNumber(g.freeNumber())
	}
	l.addToChunk(h, c)
	if from != nil {
		l.changes.moves = append(l.changes.moves, move{from: from.key, to: c.key})
	}
}

// addToChunk adds a record to a chunk.
func (l *Layout) addToChunk(h handle, c *chunk) {
	c.add(h)
	l.chunks[c.key] = c
	r := l.arena.records.at(h)
	l.counts.add(l.arena.pair(r), r.shown(), 1)
	l.markChanged(c)
}

// removeFromChunk removes a record from its chunk, and the chunk if it is empty then.
func (l *Layout) removeFromChunk(h handle) {
	r := l.arena.records.at(h)
	c := l.arena.chunk(r)
	g := c.group
	c.remove(r)
	l.counts.add(l.arena.pair(r), r.shown(), -1)
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
	key := groupKey{namespace: l.arena.subject(r).namespace()}
	if l.options.Split {
		key.owner = r.owner()
	}
	g := l.groups[key]
	if g == nil {
		g = &group{key: key, instance: l.options.Instance, arena: &l.arena, maxResults: l.options.MaxResults}
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
	for _, h := range slices.Clone(c.records) {
		to := c.group.chunkFor(l.arena.records.at(h), c)
		if to == nil {
			// The bytes would fit, but not these large results.
			delete(l.changes.shrunk, c.group)
			return
		}
		l.removeFromChunk(h)
		if len(c.records) == 0 {
			l.changes.gone[c.key] = merged
		}
		l.addToChunk(h, to)
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
