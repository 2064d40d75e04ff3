// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// index finds objects by the values of a source.
type index struct {
	source
	// memory is an estimate in bytes.
	memory atomic.Int64

	lock *semaphore.Weighted
	// lock guards the fields below.
	at       *snapshot
	postings map[any][]*Packed
	// always are the objects that each lookup finds.
	always map[*Packed]struct{}
}

// The estimated memory of a key of an index, and of each object under it.
const (
	keyBytes     = 80
	postingBytes = 8
)

func newIndex(s source) *index {
	return &index{
		source: s, lock: newLock(), at: &snapshot{},
		postings: map[any][]*Packed{}, always: map[*Packed]struct{}{},
	}
}

// keys are the values under which an index has an object.
type keys struct {
	values []any
	// always: each lookup finds it.
	always bool
}

// lookup updates the index to a snapshot, and appends to found the objects that have one of the values
// there, in no order and perhaps more than once. It stops once there are more than limit.
func (x *index) lookup(ctx context.Context, s *snapshot, values []any, found []*Packed, limit int, keysOf func(*Packed) keys) ([]*Packed, error) {
	if err := x.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer x.lock.Release(1)
	if x.at.version != s.version {
		if err := x.update(ctx, s, keysOf); err != nil {
			return nil, err
		}
	}
	for object := range x.always {
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

func (x *index) update(ctx context.Context, s *snapshot, keysOf func(*Packed) keys) error {
	type edit struct {
		object *Packed
		keys
		remove bool
	}
	var edits []edit // Made when all are known: if ctx is done before, the index is unchanged.
	for _, run := range differences(x.at, s) {
		err := run.each(func(before, after *Packed) error {
			if before == after {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if before != nil { // Its keys are not kept: they are computed again.
				edits = append(edits, edit{before, keysOf(before), true})
			}
			if after != nil {
				edits = append(edits, edit{after, keysOf(after), false})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, e := range edits {
		if e.remove {
			x.remove(e.object, e.keys)
		} else {
			x.add(e.object, e.keys)
		}
	}
	x.at = s
	return nil
}

func (x *index) add(object *Packed, k keys) {
	if k.always {
		x.always[object] = struct{}{}
		x.memory.Add(postingBytes * 2)
		return
	}
	for _, value := range k.values {
		list, known := x.postings[value]
		if !known {
			x.memory.Add(keyBytes)
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

func (x *index) remove(object *Packed, k keys) {
	if k.always {
		delete(x.always, object)
		x.memory.Add(-postingBytes * 2)
		return
	}
	for _, value := range k.values {
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
			x.memory.Add(-keyBytes)
			if text, ok := value.(string); ok {
				x.memory.Add(-int64(len(text)))
			}
		}
	}
}
