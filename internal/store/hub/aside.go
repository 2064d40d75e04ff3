// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import "github.com/docket-project/docket/internal/store/engine"

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
