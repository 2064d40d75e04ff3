// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// What a table keeps of what it has computed.
const (
	maxColumns     = 64
	maxIndexes     = 32
	maxResultBytes = 8 << 20
	// resultBytes is what a result takes beside its value.
	resultBytes = 512
)

// Header says of what resource a table is.
type Header struct {
	// APIVersion and Kind are those of the objects.
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

	mu      sync.Mutex
	columns *recent[string, *column]
	indexes *recent[string, *index]
	results *recent[resultKey, *memo]
	// built counts new columns since the last Trim.
	built int
}

// NewTable returns an empty table.
func NewTable(engine *Engine, header Header) *Table {
	t := &Table{engine: engine, header: header}
	t.current.Store(&snapshot{version: 1})
	t.forget()
	return t
}

// Put adds or replaces an object, and says what expressions see of that. It costs as much for a
// large table as for a small one.
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

// Replace has the table hold just these objects, and says what has changed. The slice is the
// caller's. What is known of objects that are the same as before stays known.
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

// SetResourceVersion says how recent the data are known to be. Put and Replace do, too.
func (t *Table) SetResourceVersion(resourceVersion string) {
	t.writing.Lock()
	defer t.writing.Unlock()
	next := *t.current.Load()
	if next.resourceVersion != resourceVersion {
		next.version++
		next.resourceVersion = resourceVersion
		t.current.Store(&next)
	}
}

// Get returns an object, or nil.
func (t *Table) Get(namespace, name string) *Packed { return t.current.Load().get(namespace, name) }

// Len returns the number of objects.
func (t *Table) Len() int { return t.current.Load().count }

// Version grows whenever something has changed.
func (t *Table) Version() uint64 { return t.current.Load().version }

// ResourceVersion returns that of the list.
func (t *Table) ResourceVersion() string { return t.current.Load().resourceVersion }

// Bytes estimates the memory that the table takes: objects and all that is known of them.
func (t *Table) Bytes() int64 {
	bytes := t.current.Load().bytes
	t.mu.Lock()
	defer t.mu.Unlock()
	t.columns.all(func(c *column) { bytes += c.memory.Load() })
	t.indexes.all(func(i *index) { bytes += i.memory.Load() })
	return bytes + t.results.cost
}

// Trim drops what has been computed and nobody has asked for since the Trim before, so that it is to
// be called now and then: what nobody asks for also keeps the objects that it was computed of, which
// Bytes doesn't see. It costs nothing but the time to compute it again.
func (t *Table) Trim() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.columns.sweep()
	t.indexes.sweep()
	t.results.sweep()
	t.built = 0
}

// Shrink drops all that has been computed. The objects stay.
func (t *Table) Shrink() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget()
}

func (t *Table) forget() {
	t.columns = newRecent[string, *column](maxColumns)
	t.indexes = newRecent[string, *index](maxIndexes)
	t.results = newRecent[resultKey, *memo](maxResultBytes)
	t.built = 0
}

// Search returns the result of an expression over the data in a shape. Beside aliases, the plural of
// the resource is a name for the data. The result belongs to all: nobody may change it. It waits
// for others who compute the same as long as ctx lasts.
func (t *Table) Search(ctx context.Context, shape Shape, expression string, aliases ...string) (any, error) {
	if t.header.Plural != "" {
		aliases = append(slices.Clip(aliases), t.header.Plural)
	}
	compiled, err := t.engine.Compile(expression, aliases...)
	if err != nil {
		return nil, err
	}
	value, err := t.answer(ctx, compiled, shape)
	if err != nil {
		return nil, compiled.failed(err)
	}
	return value, nil
}

// turn is a lock that one waits for as long as a context lasts.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }
