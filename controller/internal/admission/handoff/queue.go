// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"container/list"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Item has the results of a policy for an object, and how they are presented.
type Item struct {
	policy.Admitted
	Presentation policy.Presentation
}

// size returns roughly the memory that an item takes, in bytes.
func (i *Item) size() int {
	size := 512
	for _, r := range i.Results {
		size += 128 + len(r.Rule) + len(r.Message)
		for key, value := range r.Properties {
			size += 32 + len(key) + len(value)
		}
	}
	return size
}

// waiting has what is to be written about a subject: the latest item of each policy.
type waiting struct {
	subject types.UID
	items   map[policy.Identity]Item
	size    int
	since   time.Time
}

// add keeps the later one of two items of a policy.
func (w *waiting) add(item Item) {
	before, known := w.items[item.Policy]
	if known && before.Time.After(item.Time) {
		return
	}
	if known {
		w.size -= before.size()
	}
	w.size += item.size()
	w.items[item.Policy] = item
}

// sorted returns the items by policy.
func (w *waiting) sorted() []Item {
	return slices.SortedFunc(maps.Values(w.items), func(a, b Item) int { return strings.Compare(a.Policy.String(), b.Policy.String()) })
}

// queue has subjects, the one that has waited longest first. Their number and total size are bounded; the oldest are
// dropped.
type queue struct {
	capacity, maxBytes int
	// news is fired when there may be something to take.
	news *broadcast.Trigger

	mu       sync.Mutex
	order    *list.List // Of *waiting, the oldest in front.
	elements map[types.UID]*list.Element
	bytes    int
	closed   bool
}

func newQueue(capacity, maxBytes int) *queue {
	return &queue{
		capacity: capacity, maxBytes: maxBytes, news: broadcast.NewTrigger(),
		order: list.New(), elements: map[types.UID]*list.Element{},
	}
}

// put adds items about one subject.
func (q *queue) put(items []Item, now time.Time) {
	if len(items) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		dropped.WithLabelValues(dropShutdown).Inc()
		return
	}
	q.merge(items[0].Subject.UID, items, now, q.order.PushBack)
	q.news.Fire()
}

// giveBack puts what could not be written back to the front. Items that came since take precedence over it.
func (q *queue) giveBack(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.merge(w.subject, w.sorted(), w.since, q.order.PushFront)
}

// merge is called with q.mu.
func (q *queue) merge(subject types.UID, items []Item, since time.Time, push func(any) *list.Element) {
	element, known := q.elements[subject]
	if !known {
		element = push(&waiting{subject: subject, items: map[policy.Identity]Item{}, since: since})
		q.elements[subject] = element
	}
	w := element.Value.(*waiting)
	q.bytes -= w.size
	for _, item := range items {
		w.add(item)
	}
	q.bytes += w.size
	for q.order.Len() > q.capacity || q.bytes > q.maxBytes && q.order.Len() > 1 {
		q.remove(q.order.Front())
		dropped.WithLabelValues(dropOverflow).Inc()
	}
	queueLength.Set(float64(q.order.Len()))
}

// remove is called with q.mu.
func (q *queue) remove(element *list.Element) *waiting {
	w := q.order.Remove(element).(*waiting)
	delete(q.elements, w.subject)
	q.bytes -= w.size
	return w
}

// take returns the subject that has waited longest; nil if there is none.
func (q *queue) take() *waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	element := q.order.Front()
	if element == nil {
		return nil
	}
	w := q.remove(element)
	queueLength.Set(float64(q.order.Len()))
	return w
}

// close has all later items dropped.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}
