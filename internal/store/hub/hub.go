// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"strings"
	"sync"

	"github.com/docket-project/docket/internal/store/engine"
)

// entryOverhead is what an event costs beside its values, in bytes: the entry,
// its key and its place in the ring.
const entryOverhead = 400

// decodedFactor estimates how much larger a decoded object is than its JSON.
const decodedFactor = 4

// Entry is an event in the ring, shared by all watchers.
type Entry struct {
	engine.Event
	once    sync.Once
	decoded any
}

// NewEntry returns an entry of an event.
func NewEntry(event engine.Event) *Entry { return &Entry{Event: event} }

// Decoded returns what decode returned when it was called for the first time:
// watchers share one decoded event.
func (e *Entry) Decoded(decode func(*engine.Event) any) any {
	e.once.Do(func() { e.decoded = decode(&e.Event) })
	return e.decoded
}

func (e *Entry) cost() int64 {
	return entryOverhead + int64(len(e.Key)) + int64(len(e.Value.Data)+len(e.Previous.Data)) +
		decodedFactor*int64(e.Value.Size+e.Previous.Size)
}

// Hub holds the newest events and wakes watchers. Safe for concurrent use.
type Hub struct {
	limit int64

	mu sync.RWMutex
	// ring holds consecutive events; the last has revision state.Revision.
	ring     []*Entry
	bytes    int64
	state    engine.State
	topics   map[topicKey]*topic
	watchers int
}

type topicKey struct {
	resource engine.Resource
	prefix   string
}

// topic is a range of keys that somebody watches.
type topic struct {
	// last is the revision of the newest event in the range that the hub knows.
	last engine.Revision
	subs map[*Subscription]struct{}
}

// New returns a hub whose feed starts after state. The ring holds events worth
// limit bytes.
func New(limit int64, state engine.State) *Hub {
	return &Hub{limit: limit, state: state, topics: map[topicKey]*topic{}}
}

// Append adds events that follow each other. Those that the hub has are left
// out. It returns false, and adds nothing, when events are missing between the
// last that the hub has and the first new one, or when state is of another
// incarnation than the hub's: the feed must then be read from the database.
func (h *Hub) Append(events []*Entry, state engine.State) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if state.Incarnation != h.state.Incarnation {
		return false
	}
	for len(events) > 0 && events[0].Revision <= h.state.Revision {
		events = events[1:]
	}
	if len(events) > 0 && events[0].Revision != h.state.Revision+1 {
		return false
	}
	for _, e := range events {
		h.ring = append(h.ring, e)
		h.bytes += e.cost()
		h.state.Revision = e.Revision
		h.wakeLocked(e)
	}
	h.state.Compacted = max(h.state.Compacted, state.Compacted)
	h.evictLocked()
	return true
}

// Reset empties the ring and moves the feed to state, after a failover or a
// restore, or when the hub fell behind history. Watchers that were reading
// events before get a Lost status.
func (h *Hub) Reset(state engine.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring, h.bytes, h.state = nil, 0, state
	for _, t := range h.topics {
		t.last = state.Revision
		for s := range t.subs {
			s.wake()
		}
	}
}

// State returns how far the feed has come.
func (h *Hub) State() engine.State {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.state
}

// Compacted records that history up to revision is gone.
func (h *Hub) Compacted(revision engine.Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Compacted = max(h.state.Compacted, revision)
}

// Stats are figures for metrics.
type Stats struct {
	Watchers int
	// Events in the ring and their estimated size in bytes.
	Events int
	Bytes  int64
}

// Stats returns the present figures.
func (h *Hub) Stats() Stats {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return Stats{Watchers: h.watchers, Events: len(h.ring), Bytes: h.bytes}
}

// wakeLocked signals the topics that an event belongs to: the whole resource,
// and each prefix of the key that ends in a slash.
func (h *Hub) wakeLocked(e *Entry) {
	h.signalLocked(topicKey{e.Resource, ""}, e.Revision)
	for i := 0; i < len(e.Key); {
		slash := strings.IndexByte(e.Key[i:], '/')
		if slash < 0 {
			return
		}
		i += slash + 1
		h.signalLocked(topicKey{e.Resource, e.Key[:i]}, e.Revision)
	}
}

func (h *Hub) signalLocked(key topicKey, revision engine.Revision) {
	t, ok := h.topics[key]
	if !ok {
		return
	}
	t.last = revision
	for s := range t.subs {
		s.wake()
	}
}

// evictLocked drops the oldest events until the ring is within its limit. The
// newest event stays whatever its size.
func (h *Hub) evictLocked() {
	drop := 0
	for h.bytes > h.limit && drop < len(h.ring)-1 {
		h.bytes -= h.ring[drop].cost()
		h.ring[drop] = nil
		drop++
	}
	h.ring = h.ring[drop:]
}
