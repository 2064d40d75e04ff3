// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
)

// shards bounds what one change copies of an index: the keys of one shard, and a pointer for each.
const shards = 256

// seed decides which shard a key is in. It is the same for all postings.
var seed = maphash.MakeSeed()

// postings are the objects of a snapshot by their keys. They never change; the next ones share all shards
// with them but those that have changed.
type postings struct {
	at     *snapshot
	shards [shards]map[any][]*Packed
	// count is the number of keys.
	count int
}

// anyKey is the key of the objects that every lookup finds, and failedKey that of those whose keys can't be
// computed.
type (
	anyKey    struct{}
	failedKey struct{}
)

func shardOf(key any) int { return int(maphash.Comparable(seed, key) % shards) }

// of returns the objects that have a key, in no order.
func (p *postings) of(key any) []*Packed { return p.shards[shardOf(key)][key] }

// editor makes the next postings. It copies what the ones before share with others, once.
type editor struct {
	next *postings
	// ownShards and ownLists are copies already.
	ownShards [shards]bool
	ownLists  map[any]bool
	// memory is by how much the estimate changes, in bytes.
	memory int64
}

func (p *postings) edit(at *snapshot) *editor {
	next := *p
	next.at = at
	return &editor{next: &next, ownLists: map[any]bool{}}
}

// shard returns a shard that may be changed.
func (e *editor) shard(key any) map[any][]*Packed {
	i := shardOf(key)
	if !e.ownShards[i] {
		e.ownShards[i] = true
		if e.next.shards[i] = maps.Clone(e.next.shards[i]); e.next.shards[i] == nil {
			e.next.shards[i] = map[any][]*Packed{}
		}
	}
	return e.next.shards[i]
}

func (e *editor) add(object *Packed, key any) {
	shard := e.shard(key)
	list, known := shard[key]
	if !known {
		e.next.count++
		e.memory += keyBytes
		if text, ok := key.(string); ok { // The key stays when the object has gone.
			key = strings.Clone(text)
			e.memory += int64(len(text))
		}
	}
	if slices.Contains(list[max(0, len(list)-1):], object) { // A value that it has twice.
		return
	}
	if !e.ownLists[key] {
		e.ownLists[key] = true
		list = slices.Clip(list) // Others may append to it, too.
	}
	shard[key] = append(list, object)
	e.memory += postingBytes
}

func (e *editor) remove(object *Packed, key any) {
	list := e.next.of(key)
	i := slices.Index(list, object)
	if i < 0 {
		return // Removed already: a value that it has twice.
	}
	e.memory -= postingBytes
	shard := e.shard(key)
	if len(list) == 1 {
		delete(shard, key)
		delete(e.ownLists, key)
		e.next.count--
		e.memory -= keyBytes
		if text, ok := key.(string); ok {
			e.memory -= int64(len(text))
		}
		return
	}
	if !e.ownLists[key] {
		e.ownLists[key] = true
		list = slices.Clone(list)
	}
	list[i] = list[len(list)-1]
	list[len(list)-1] = nil
	shard[key] = list[:len(list)-1]
}
