// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
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
	key     reportKey
	group   *group
	number  int
	records []*record
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
	cost := int(r.size()) + owner.size
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

func (c *chunk) add(r *record) {
	cost := c.cost(r)
	r.chunk, r.index = c, uint16(len(c.records))
	c.records = append(c.records, r)
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
	c.records[r.index].index = r.index
	c.records[last] = nil
	c.records = c.records[:last]
	r.chunk = nil
	owner := r.owner()
	cost := int(r.size()) + owner.size
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
