// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
)

// index finds objects by the values of a source.
type index struct {
	source
	// memory is what it takes.
	memory atomic.Int64

	turn turn
	// The following is read and changed by whoever has the turn.
	at       *snapshot
	postings map[any][]*Packed
	// open are the objects that are in question whatever is asked.
	open map[*Packed]struct{}
}

// What an entry of an index takes, and what each object in it.
const (
	entryBytes   = 80
	postingBytes = 8
)

func newIndex(s source) *index {
	return &index{
		source: s, turn: newTurn(), at: &snapshot{},
		postings: map[any][]*Packed{}, open: map[*Packed]struct{}{},
	}
}

// entry says under which values an object is found.
type entry struct {
	values []any
	// open: it is found whatever is asked.
	open bool
}

// lookup brings the index to a snapshot and adds to found what has one of the values there; in no
// order, and perhaps more than once. It stops beyond a limit.
func (x *index) lookup(ctx context.Context, s *snapshot, values []any, found []*Packed, limit int, entryOf func(*Packed) entry) ([]*Packed, error) {
	if err := x.turn.take(ctx); err != nil {
		return nil, err
	}
	defer x.turn.give()
	if x.at.version != s.version {
		if err := x.mend(ctx, s, entryOf); err != nil {
			return nil, err
		}
	}
	for object := range x.open {
		if len(found) > limit {
			return found, nil
		}
		found = append(found, object)
	}
	for _, value := range values {
		if len(found) > limit {
			return found, nil
		}
		found = append(found, x.postings[value]...)
	}
	return found, nil
}

func (x *index) mend(ctx context.Context, s *snapshot, entryOf func(*Packed) entry) error {
	type edit struct {
		object *Packed
		entry
		remove bool
	}
	var edits []edit // Made when all are known: if ctx ends before, nothing has happened.
	for _, run := range differences(x.at, s) {
		err := run.each(func(before, after *Packed) error {
			if before == after {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if before != nil { // What it was found under is not kept: it can be had again.
				edits = append(edits, edit{before, entryOf(before), true})
			}
			if after != nil {
				edits = append(edits, edit{after, entryOf(after), false})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, e := range edits {
		if e.remove {
			x.remove(e.object, e.entry)
		} else {
			x.add(e.object, e.entry)
		}
	}
	x.at = s
	return nil
}

func (x *index) add(object *Packed, e entry) {
	if e.open {
		x.open[object] = struct{}{}
		x.memory.Add(postingBytes * 2)
		return
	}
	for _, value := range e.values {
		list, known := x.postings[value]
		if !known {
			x.memory.Add(entryBytes)
			if text, ok := value.(string); ok { // The key stays when the object has gone.
				value = strings.Clone(text)
				x.memory.Add(int64(len(text)))
			}
		}
		if !slices.Contains(list[max(0, len(list)-1):], object) { // A value that it has twice.
			x.postings[value] = append(list, object)
			x.memory.Add(postingBytes)
		}
	}
}

func (x *index) remove(object *Packed, e entry) {
	if e.open {
		delete(x.open, object)
		x.memory.Add(-postingBytes * 2)
		return
	}
	for _, value := range e.values {
		list, known := x.postings[value]
		i := slices.Index(list, object)
		if i < 0 {
			continue
		}
		x.memory.Add(-postingBytes)
		list[i] = list[len(list)-1]
		list[len(list)-1] = nil
		list = list[:len(list)-1]
		if x.postings[value] = list; known && len(list) == 0 {
			delete(x.postings, value)
			x.memory.Add(-entryBytes)
			if text, ok := value.(string); ok {
				x.memory.Add(-int64(len(text)))
			}
		}
	}
}
