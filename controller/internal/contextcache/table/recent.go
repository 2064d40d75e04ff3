// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "container/list"

// recent keeps what was used last, up to a cost. It is not safe for concurrent use.
type recent[K comparable, V any] struct {
	limit, cost int64
	entries     map[K]*list.Element
	// order begins with what was used last.
	order *list.List
}

type recentEntry[K comparable, V any] struct {
	key   K
	value V
	cost  int64
	// used since the last sweep.
	used bool
}

func newRecent[K comparable, V any](limit int64) *recent[K, V] {
	return &recent[K, V]{limit: limit, entries: map[K]*list.Element{}, order: list.New()}
}

func entryOf[K comparable, V any](element *list.Element) *recentEntry[K, V] {
	entry, _ := element.Value.(*recentEntry[K, V])
	return entry
}

func (r *recent[K, V]) get(key K) (value V, ok bool) {
	element, ok := r.entries[key]
	if !ok {
		return value, false
	}
	r.order.MoveToFront(element)
	entry := entryOf[K, V](element)
	entry.used = true
	return entry.value, true
}

// put adds a value, which may cost more than the limit: then it is the only one.
func (r *recent[K, V]) put(key K, value V, cost int64) {
	r.entries[key] = r.order.PushFront(&recentEntry[K, V]{key, value, cost, true})
	r.cost += cost
	r.shrink()
}

// charge changes the cost of a value that may be gone.
func (r *recent[K, V]) charge(key K, cost int64) {
	if element, ok := r.entries[key]; ok {
		entry := entryOf[K, V](element)
		r.cost += cost - entry.cost
		entry.cost = cost
		r.shrink()
	}
}

func (r *recent[K, V]) shrink() {
	for r.cost > r.limit && r.order.Len() > 1 {
		r.remove(r.order.Back())
	}
}

func (r *recent[K, V]) remove(element *list.Element) {
	entry := entryOf[K, V](element)
	r.order.Remove(element)
	delete(r.entries, entry.key)
	r.cost -= entry.cost
}

// sweep removes what nobody has used since the sweep before.
func (r *recent[K, V]) sweep() {
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
func (r *recent[K, V]) all(do func(V)) {
	for element := r.order.Front(); element != nil; element = element.Next() {
		do(entryOf[K, V](element).value)
	}
}
