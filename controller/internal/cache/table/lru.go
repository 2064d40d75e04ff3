// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "container/list"

// lru keeps the values that were used most recently, up to a total cost. It is not safe for concurrent
// use.
//
// (The libraries at hand bound a number, not a cost, and can't drop what was not used for a while.)
type lru[K comparable, V any] struct {
	limit, cost int64
	entries     map[K]*list.Element
	// order begins with the value that was used last.
	order *list.List
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
	cost  int64
	// used since the last dropUnused.
	used bool
}

func newLRU[K comparable, V any](limit int64) *lru[K, V] {
	return &lru[K, V]{limit: limit, entries: map[K]*list.Element{}, order: list.New()}
}

func entryOf[K comparable, V any](element *list.Element) *lruEntry[K, V] {
	entry, _ := element.Value.(*lruEntry[K, V])
	return entry
}

func (r *lru[K, V]) get(key K) (value V, ok bool) {
	element, ok := r.entries[key]
	if !ok {
		return value, false
	}
	r.order.MoveToFront(element)
	entry := entryOf[K, V](element)
	entry.used = true
	return entry.value, true
}

// put adds a value. One that costs more than the limit is kept alone.
func (r *lru[K, V]) put(key K, value V, cost int64) {
	r.entries[key] = r.order.PushFront(&lruEntry[K, V]{key, value, cost, true})
	r.cost += cost
	r.shrink()
}

// setCost changes the cost of a value, if it is still there.
func (r *lru[K, V]) setCost(key K, cost int64) {
	if element, ok := r.entries[key]; ok {
		entry := entryOf[K, V](element)
		r.cost += cost - entry.cost
		entry.cost = cost
		r.shrink()
	}
}

func (r *lru[K, V]) shrink() {
	for r.cost > r.limit && r.order.Len() > 1 {
		r.remove(r.order.Back())
	}
}

func (r *lru[K, V]) remove(element *list.Element) {
	entry := entryOf[K, V](element)
	r.order.Remove(element)
	delete(r.entries, entry.key)
	r.cost -= entry.cost
}

// dropUnused removes what was not used since it was called last.
func (r *lru[K, V]) dropUnused() {
	for element := r.order.Front(); element != nil; {
		entry, next := entryOf[K, V](element), element.Next()
		if !entry.used {
			r.remove(element)
		}
		entry.used = false
		element = next
	}
}

// all calls do for each value.
func (r *lru[K, V]) all(do func(V)) {
	for element := r.order.Front(); element != nil; element = element.Next() {
		do(entryOf[K, V](element).value)
	}
}
