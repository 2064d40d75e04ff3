// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/docket-project/docket/internal/store/engine"
)

// Hub holds the newest events and wakes watchers. Safe for concurrent use.
// Readers take no lock: they see a view that is replaced as a whole. T is a decoded event.
type Hub[T any] struct {
	limit int64
	view  atomic.Pointer[view[T]]
	forms forms[T]

	// mu guards replacing the view, and the fields below.
	mu sync.Mutex
	// ring is the ring of the view. Behind its end there may be room to append.
	ring []*Entry[T]
	// evicted is how many entries before the ring its array still holds, at most.
	evicted  int
	bytes    int64
	aside    aside[T]
	topics   map[topicKey]*topic
	watchers int
}

// view is what the hub held at one time. It is never changed.
type view[T any] struct {
	// ring holds consecutive events; the last has revision state.Revision.
	ring  []*Entry[T]
	state engine.State
}

// oldest is the revision of the oldest event in the ring; the next one to come when it is empty.
func (v *view[T]) oldest() engine.Revision {
	return v.state.Revision - engine.Revision(len(v.ring)) + 1
}

type topicKey struct {
	resource engine.Resource
	prefix   string
}

// topic is a range of keys that somebody watches.
type topic struct {
	// last is at least the revision of the newest event in the range that views show.
	last atomic.Int64
	// signal is closed, and replaced, when there is something new.
	signal   atomic.Pointer[chan struct{}]
	watchers atomic.Int32
}

// renew returns the topic's signal for the caller to close, and puts another one in its place.
func (t *topic) renew() chan struct{} {
	next := make(chan struct{})
	return *t.signal.Swap(&next)
}

// New returns a hub whose feed starts after state. The ring holds events worth
// limit bytes, beside which decoded ones take up to half as much.
func New[T any](limit int64, state engine.State) *Hub[T] {
	h := &Hub[T]{limit: limit, forms: forms[T]{limit: limit / 2}, topics: map[topicKey]*topic{}}
	h.view.Store(&view[T]{state: state})
	return h
}

// Append adds events that follow each other. Those that the hub has are left out. It returns false, and adds nothing,
// when events are missing between the last that the hub has and the first new one, or when state is of another
// incarnation than the hub's: the feed must then be read from the database.
func (h *Hub[T]) Append(events []*Entry[T], state engine.State) bool {
	signals, ok := h.add(events, state)
	closeAll(signals)
	return ok
}

// add is Append, and returns the signals to close, once for all events: the more watchers wait, the longer it takes.
func (h *Hub[T]) add(events []*Entry[T], state engine.State) ([]chan struct{}, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.view.Load().state
	if state.Incarnation != now.Incarnation {
		return nil, false
	}
	for len(events) > 0 && events[0].Revision <= now.Revision {
		events = events[1:]
	}
	if len(events) > 0 && events[0].Revision != now.Revision+1 {
		return nil, false
	}
	if len(events) > 0 {
		events = append(events[:len(events):len(events)], h.aside.take(events[len(events)-1].Revision)...)
	}
	h.Adopt(events)
	touched := map[*topic]struct{}{}
	for _, e := range events {
		h.bytes += e.Cost()
		now.Revision = e.Revision
		h.touchLocked(e, touched)
	}
	h.ring = append(h.ring, events...)
	now.Compacted = max(now.Compacted, state.Compacted)
	h.evictLocked()
	// In this order: a reader that sees the events finds their topics newer than its cursor, and one that gets the next
	// signal sees the events.
	h.view.Store(&view[T]{ring: h.ring, state: now})
	signals := make([]chan struct{}, 0, len(touched))
	for t := range touched {
		signals = append(signals, t.renew())
	}
	return signals, true
}

// Prepend adds the events that came just before the oldest one in the ring. It returns false, and adds nothing, when
// they are not those, are of another incarnation, or the ring is full.
func (h *Hub[T]) Prepend(events []*Entry[T], incarnation engine.Incarnation) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.view.Load()
	if len(events) == 0 || incarnation != now.state.Incarnation || events[len(events)-1].Revision+1 != now.oldest() {
		return false
	}
	bytes := h.bytes
	for _, e := range events {
		bytes += e.Cost()
	}
	if bytes > h.limit {
		return false
	}
	h.Adopt(events)
	h.bytes = bytes
	h.ring = slices.Concat(events, h.ring)
	h.view.Store(&view[T]{ring: h.ring, state: now.state})
	return true
}

// Adopt charges the decoded forms of entries to the hub's limit, whether the entries are
// in its ring or not. Nobody else may know them yet.
func (h *Hub[T]) Adopt(entries []*Entry[T]) {
	for _, e := range entries {
		e.forms = &h.forms
	}
}

// Oldest is the revision of the oldest event in the ring, that of the next event when it is empty.
func (h *Hub[T]) Oldest() engine.Revision { return h.view.Load().oldest() }

// Reset empties the ring and moves the feed to state, after a failover or a restore, or when the hub fell behind
// history. Watchers that were reading events before get a Lost status.
func (h *Hub[T]) Reset(state engine.State) {
	closeAll(h.reset(state))
}

func (h *Hub[T]) reset(state engine.State) []chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring, h.bytes, h.evicted, h.aside = nil, 0, 0, aside[T]{}
	for _, t := range h.topics {
		t.last.Store(int64(state.Revision))
	}
	h.view.Store(&view[T]{state: state})
	var signals []chan struct{}
	for _, t := range h.topics {
		signals = append(signals, t.renew())
	}
	return signals
}

func closeAll(signals []chan struct{}) {
	for _, signal := range signals {
		close(signal)
	}
}

// State returns how far the feed has come.
func (h *Hub[T]) State() engine.State { return h.view.Load().state }

// Compacted records that history up to revision is gone.
func (h *Hub[T]) Compacted(revision engine.Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := *h.view.Load()
	next.state.Compacted = max(next.state.Compacted, revision)
	h.view.Store(&next)
}

// Stats are figures for metrics.
type Stats struct {
	Watchers int
	// Events in the ring, and the estimated size of these and of decoded ones in bytes.
	Events int
	Bytes  int64
}

// Stats returns the present figures.
func (h *Hub[T]) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Stats{Watchers: h.watchers, Events: len(h.ring), Bytes: h.bytes + h.forms.size()}
}

// touchLocked notes an event with the topics that it belongs to: the whole resource,
// and each prefix of the key that ends in a slash.
func (h *Hub[T]) touchLocked(e *Entry[T], touched map[*topic]struct{}) {
	touch := func(prefix string) {
		if t, ok := h.topics[topicKey{e.Resource, prefix}]; ok {
			t.last.Store(int64(e.Revision))
			touched[t] = struct{}{}
		}
	}
	touch("")
	for i := 0; i < len(e.Key); {
		slash := strings.IndexByte(e.Key[i:], '/')
		if slash < 0 {
			return
		}
		i += slash + 1
		touch(e.Key[:i])
	}
}

// evictLocked drops the oldest events until the ring is within its limit. The newest event stays whatever its size.
func (h *Hub[T]) evictLocked() {
	drop := 0
	for h.bytes > h.limit && drop < len(h.ring)-1 {
		h.bytes -= h.ring[drop].Cost()
		drop++
	}
	h.ring = h.ring[drop:]
	// Readers may be at work on the array, so that what was dropped stays in it until there is another one.
	if h.evicted += drop; h.evicted > len(h.ring)/8 {
		h.ring = append(make([]*Entry[T], 0, len(h.ring)+len(h.ring)/8+1), h.ring...)
		h.evicted = 0
	}
}

// aside holds events that came before those that precede them: the commits of this process, between which are
// those of others. The next to come are never below the last.
type aside[T any] struct {
	events []*Entry[T]
	bytes  int64
}

// add keeps events, unless they take more than limit bytes together with the others.
func (a *aside[T]) add(events []*Entry[T], limit int64) {
	if n := len(a.events); n > 0 && events[0].Revision <= a.events[n-1].Revision {
		return
	}
	var bytes int64
	for _, e := range events {
		bytes += e.Cost()
	}
	if a.bytes+bytes > limit {
		return
	}
	a.events, a.bytes = append(a.events, events...), a.bytes+bytes
}

// take returns those that come next after a revision, and forgets them and all before.
func (a *aside[T]) take(after engine.Revision) []*Entry[T] {
	var next []*Entry[T]
	for len(a.events) > 0 && a.events[0].Revision <= after+1 {
		e := a.events[0]
		if e.Revision == after+1 {
			next = append(next, e)
			after = e.Revision
		}
		a.bytes -= e.Cost()
		a.events[0] = nil
		a.events = a.events[1:]
	}
	return next
}

// Offer is Append for the commits of this process. If only others' are missing before them, they are kept, and
// added as soon as these have been.
func (h *Hub[T]) Offer(events []*Entry[T], state engine.State) bool {
	if h.Append(events, state) {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.view.Load().state
	if len(events) > 0 && state.Incarnation == now.Incarnation && events[0].Revision > now.Revision+1 {
		h.aside.add(events, h.limit/4)
	}
	return false
}

// Missing is how many events have to be added before the hub can go on with those that were offered; 0 if it has
// none of these.
func (h *Hub[T]) Missing() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.aside.events) == 0 {
		return 0
	}
	return int(h.aside.events[0].Revision - h.view.Load().state.Revision - 1)
}
