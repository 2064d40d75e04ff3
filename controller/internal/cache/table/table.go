// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Limits of the computed values that a table keeps.
const (
	maxColumns     = 64
	maxIndexes     = 32
	maxResultBytes = 8 << 20
	// resultBytes is the memory of a result without its value.
	resultBytes = 512
)

// Header is the resource whose objects a table has.
type Header struct {
	// APIVersion and Kind name the objects' kind.
	APIVersion, Kind string
	// Plural is a name by which expressions may call the data, as by an alias.
	Plural string
}

// Table keeps the objects of one resource. It is safe for concurrent use.
type Table struct {
	engine *Engine
	header Header

	// current changes under writing only.
	current atomic.Pointer[snapshot]
	writing sync.Mutex

	results *memos

	mu      sync.Mutex
	columns *lru[string, *column]
	indexes *lru[string, *index]
	// built counts the new columns since the last Trim.
	built int
}

// NewTable returns an empty table.
func NewTable(engine *Engine, header Header) *Table {
	t := &Table{engine: engine, header: header, results: newMemos()}
	t.current.Store(&snapshot{version: 1})
	t.forget()
	return t
}

// Put adds or replaces an object, and returns what expressions see of that. The size of the table
// makes no difference to its cost.
func (t *Table) Put(object *Packed) Change {
	t.writing.Lock()
	defer t.writing.Unlock()
	now := t.current.Load()
	change := Content
	if before := now.get(object.namespace, object.name); before != nil {
		change = changeOf(before, object)
	}
	if change == None {
		return None
	}
	next := now.with(object)
	if object.version != "" {
		next.resourceVersion = object.version
	}
	t.current.Store(next)
	return change
}

// Delete removes an object and reports whether there was one.
func (t *Table) Delete(namespace, name string) bool {
	t.writing.Lock()
	defer t.writing.Unlock()
	now := t.current.Load()
	if now.get(namespace, name) == nil {
		return false
	}
	t.current.Store(now.without(namespace, name))
	return true
}

// Replace makes these objects the content of the table, and returns what has changed. The caller keeps
// the slice. What was computed of objects that are unchanged is kept.
func (t *Table) Replace(objects []*Packed, resourceVersion string) Change {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, compareObjects)
	t.writing.Lock()
	defer t.writing.Unlock()
	now := t.current.Load()
	next := &snapshot{version: now.version + 1, resourceVersion: resourceVersion}
	change := None
	kept := objects[:0]
	for i, object := range objects {
		if i+1 < len(objects) && compareObjects(object, objects[i+1]) == 0 {
			continue // The last one counts.
		}
		before := now.get(object.namespace, object.name)
		if before == nil {
			change = Content
		} else if c := changeOf(before, object); c == None {
			object = before
		} else {
			change = max(change, c)
		}
		kept = append(kept, object)
		next.bytes += object.Size()
		next.failing += object.failing()
	}
	next.count = len(kept)
	if next.count != now.count {
		change = Content // As many and none of them new: the same ones.
	}
	next.chunks = now.chunks
	if change != None {
		next.chunks = chunksOf(kept)
	}
	t.current.Store(next)
	return change
}

// Get returns an object, or nil.
func (t *Table) Get(namespace, name string) *Packed { return t.current.Load().get(namespace, name) }

// Len returns the number of objects.
func (t *Table) Len() int { return t.current.Load().count }

// Bytes estimates the memory of the table: of the objects, and of all that was computed of them.
func (t *Table) Bytes() int64 {
	bytes := t.current.Load().bytes + t.results.bytes()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.columns.all(func(c *column) { bytes += c.memory.Load() })
	t.indexes.all(func(i *index) { bytes += i.memory.Load() })
	return bytes
}

// Trim drops the computed values that were not read since the previous Trim. Call it periodically: a
// value that nobody reads keeps the objects alive from which it was computed, which Bytes does not
// count. A dropped value is computed again when it is needed.
func (t *Table) Trim() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.columns.dropUnused()
	t.indexes.dropUnused()
	t.results.trim()
	t.built = 0
}

// Shrink drops all computed values. The objects stay.
func (t *Table) Shrink() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget()
}

func (t *Table) forget() {
	t.columns = newLRU[string, *column](maxColumns)
	t.indexes = newLRU[string, *index](maxIndexes)
	t.results.forget()
	t.built = 0
}

// Search returns the result of an expression over the data in a shape. The expression may call the data
// by any of aliases and by the plural of the resource. The result is shared: nobody may change it. If
// somebody else is computing the same, Search waits for that until ctx is done.
func (t *Table) Search(ctx context.Context, shape Shape, expression string, aliases ...string) (any, error) {
	if t.header.Plural != "" {
		aliases = append(slices.Clip(aliases), t.header.Plural)
	}
	compiled, err := t.engine.Compile(expression, aliases...)
	if err != nil {
		return nil, err
	}
	if err := t.Problem(); err != nil {
		return nil, err
	}
	value, err := t.answer(ctx, compiled, shape)
	if err != nil {
		return nil, compiled.failed(err)
	}
	return value, nil
}

// Problem says why there are no answers: a filter can't tell of an object whether it belongs here, and
// without it answers would be short.
func (t *Table) Problem() error {
	s := t.current.Load()
	if s.failing == 0 {
		return nil
	}
	for _, chunk := range s.chunks {
		for _, object := range chunk.objects {
			if object.failure != nil {
				return object.failure
			}
		}
	}
	return nil
}

// newLock returns a lock that is waited for as long as a context lasts. Its weight is 1.
func newLock() *semaphore.Weighted { return semaphore.NewWeighted(1) }
