// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// index finds objects by the values of a source.
type index struct {
	source
	// memory is an estimate in bytes.
	memory atomic.Int64
	// content identifies the last snapshot to which it was updated. Only the holder of lock replaces it.
	content atomic.Pointer[postings]
	lock    *semaphore.Weighted
}

// The estimated memory of a key of an index, and of each object under it.
const (
	keyBytes     = 80
	postingBytes = 8
)

func newIndex(s source) *index {
	x := &index{source: s, lock: newLock()}
	x.content.Store(&postings{at: &snapshot{}})
	x.memory.Store(shards * pointerBytes)
	return x
}

// pointerBytes is the size of a pointer.
const pointerBytes = 8

// keysOf returns the keys under which an index has an object: at most once each, except neighbours.
type keysOf func(*Packed) []any

// lookup appends to found the objects of a snapshot that have one of the values there, in no order and
// perhaps more than once. It stops once there are more than limit.
func (x *index) lookup(ctx context.Context, s *snapshot, values []any, found []*Packed, limit int, keys keysOf) ([]*Packed, error) {
	content, err := x.update(ctx, s, keys)
	if err != nil {
		return nil, err
	}
	found = append(found, content.of(anyKey{})...)
	for _, value := range values {
		if len(found) > limit {
			break
		}
		found = append(found, content.of(value)...)
	}
	return found, nil
}

// update returns the objects of a snapshot by their keys.
func (x *index) update(ctx context.Context, s *snapshot, keys keysOf) (*postings, error) {
	if content := x.content.Load(); content.at.version == s.version {
		return content, nil
	}
	if err := x.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer x.lock.Release(1)
	content := x.content.Load()
	if content.at.version == s.version {
		return content, nil
	}
	edit := content.edit(s)
	for _, run := range differences(content.at, s) {
		err := run.each(func(before, after *Packed) error {
			if before == after {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if before != nil { // Its keys are not kept: they are computed again.
				for _, key := range keys(before) {
					edit.remove(before, key)
				}
			}
			if after != nil {
				for _, key := range keys(after) {
					edit.add(after, key)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	x.content.Store(edit.next)
	x.memory.Add(edit.memory)
	return edit.next, nil
}
