// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// Status says what a Read found.
type Status int

const (
	// Current says that the entries are all there is up to the returned revision.
	Current Status = iota
	// Behind says that the ring no longer reaches back to the cursor; read the event
	// table from there.
	Behind
	// Lost says that the revisions which the watcher knows mean nothing any more.
	Lost
)

// Subscription is a watcher's place in the hub.
type Subscription struct {
	hub         *Hub
	key         topicKey
	topic       *topic
	incarnation engine.Incarnation
	signal      chan struct{}
}

// Subscribe registers a watcher of the keys of a resource that start with
// prefix, which is empty or ends in a slash. Stop must be called.
func (h *Hub) Subscribe(resource engine.Resource, prefix string) *Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := topicKey{resource, prefix}
	t, ok := h.topics[key]
	if !ok {
		// What came before is unknown, so assume an event at the newest revision.
		t = &topic{last: h.state.Revision, subs: map[*Subscription]struct{}{}}
		h.topics[key] = t
	}
	s := &Subscription{hub: h, key: key, topic: t, incarnation: h.state.Incarnation, signal: make(chan struct{}, 1)}
	t.subs[s] = struct{}{}
	h.watchers++
	return s
}

// Stop unregisters the watcher. Calling it twice does no harm.
func (s *Subscription) Stop() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if _, ok := s.topic.subs[s]; !ok {
		return
	}
	delete(s.topic.subs, s)
	s.hub.watchers--
	if len(s.topic.subs) == 0 {
		delete(s.hub.topics, s.key)
	}
}

// Signal receives when there may be something new to read.
func (s *Subscription) Signal() <-chan struct{} { return s.signal }

// Shared reports whether several watchers read the same range, so that work
// for one of them can serve the others.
func (s *Subscription) Shared() bool {
	s.hub.mu.RLock()
	defer s.hub.mu.RUnlock()
	return len(s.topic.subs) > 2
}

// Read appends to buffer the entries of the watcher's range after a revision,
// at most max of them, and returns the revision that the watcher has then
// seen everything up to.
func (s *Subscription) Read(after engine.Revision, buffer []*Entry, most int) ([]*Entry, engine.Revision, Status) {
	h := s.hub
	h.mu.RLock()
	defer h.mu.RUnlock()
	switch {
	case s.incarnation != h.state.Incarnation:
		return buffer, after, Lost
	case after >= h.state.Revision:
		return buffer, after, Current
	case s.topic.last <= after:
		return buffer, h.state.Revision, Current
	}
	oldest := h.state.Revision - engine.Revision(len(h.ring)) + 1
	if after+1 < oldest {
		return buffer, after, Behind
	}
	for _, e := range h.ring[after+1-oldest:] {
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

func (s *Subscription) wake() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}
