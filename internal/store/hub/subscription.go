// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"strings"
	"sync"

	"github.com/docket-project/docket/internal/store/engine"
)

// Status says what a Read found.
type Status int

const (
	// Current says that the entries are all there is up to the returned revision.
	Current Status = iota
	// Behind says that the ring no longer reaches back to the cursor; read the event table from there.
	Behind
	// Lost says that the revisions which the watcher knows mean nothing any more.
	Lost
)

// Subscription is a watcher's place in the hub.
type Subscription[T any] struct {
	hub   *Hub[T]
	key   topicKey
	topic *topic
	// incarnation that Read saw last. Only Read uses it.
	incarnation engine.Incarnation
	stop        sync.Once
}

// Subscribe registers a watcher of the keys of a resource that start with
// prefix, which is empty or ends in a slash. Stop must be called.
func (h *Hub[T]) Subscribe(resource engine.Resource, prefix string) *Subscription[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := topicKey{resource, prefix}
	now := h.view.Load().state
	t, ok := h.topics[key]
	if !ok {
		t = &topic{}
		// Earlier events are unknown, so assume an event at the newest revision.
		t.last.Store(int64(now.Revision))
		signal := make(chan struct{})
		t.signal.Store(&signal)
		h.topics[key] = t
	}
	t.watchers.Add(1)
	h.watchers++
	return &Subscription[T]{hub: h, key: key, topic: t, incarnation: now.Incarnation}
}

// Stop unregisters the watcher. Calling it twice does no harm.
func (s *Subscription[T]) Stop() {
	s.stop.Do(func() {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		s.hub.watchers--
		if s.topic.watchers.Add(-1) == 0 {
			delete(s.hub.topics, s.key)
		}
	})
}

// Signal returns a channel that is closed when there may be something new, to somebody who calls Read after this.
func (s *Subscription[T]) Signal() <-chan struct{} { return *s.topic.signal.Load() }

// Shared reports whether several watchers read the same range, so that work for one of them can serve the others.
func (s *Subscription[T]) Shared() bool { return s.topic.watchers.Load() > 2 }

// Read appends to buffer the entries of the watcher's range after a revision, at most max of them, and returns the
// revision that the watcher has then seen everything up to. It is for one goroutine at a time.
func (s *Subscription[T]) Read(after engine.Revision, buffer []*Entry[T], most int) ([]*Entry[T], engine.Revision, Status) {
	// Before last: it is never older than what a view shows.
	now := s.hub.view.Load()
	gap := now.state.Gap
	if s.incarnation != now.state.Incarnation && !gap.Follows(s.incarnation) || gap.Has(after) {
		return buffer, after, Lost
	}
	s.incarnation = now.state.Incarnation
	after = gap.Over(after)
	switch {
	case after >= now.state.Revision:
		return buffer, after, Current
	case engine.Revision(s.topic.last.Load()) <= after:
		return buffer, now.state.Revision, Current
	case after+1 < now.oldest():
		return buffer, after, Behind
	}
	for _, e := range now.ring[after+1-now.oldest():] {
		if e.Resource == s.key.resource && strings.HasPrefix(e.Key, s.key.prefix) {
			if most--; most < 0 {
				return buffer, after, Current
			}
			buffer = append(buffer, e)
		}
		after = e.Revision
	}
	return buffer, after, Current
}
