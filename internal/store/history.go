// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/hub"
)

// pageReaders is how many pages of the event table are read at once.
const pageReaders = 2

// history is the event table as watchers behind the ring read it: each page is read once for all
// who want it at about the same time, and what is decoded of it is shared as in the ring.
type history struct {
	engine engine.Engine
	hub    *hub.Hub[change]
	// limit of the bytes of pages that are kept.
	limit int64
	gate  gate

	mu sync.Mutex
	// pages by the revision that they start after; the values of order, which has the one last used first, and those
	// that are being read.
	pages map[engine.Revision]*list.Element
	order *list.List
	bytes int64
}

// page of the event table. It is complete, and never changed again, when ready is closed.
type page struct {
	after engine.Revision
	ready chan struct{}

	entries []*hub.Entry[change]
	// upTo is the revision of the last one, or after when there is none.
	upTo  engine.Revision
	state engine.State
	bytes int64
	err   error
}

func newHistory(e engine.Engine, h *hub.Hub[change], limit int64) *history {
	return &history{
		engine: e, hub: h, limit: limit, gate: gate{free: pageReaders},
		pages: map[engine.Revision]*list.Element{}, order: list.New(),
	}
}

// read appends to buffer the entries after a revision that fit, at most max of them, and returns the revision that
// the caller has then seen everything up to: that it began with when there is nothing newer.
func (h *history) read(ctx context.Context, after engine.Revision, fits func(*hub.Entry[change]) bool, buffer []*hub.Entry[change], most int,
) ([]*hub.Entry[change], engine.Revision, error) {
	p, err := h.find(ctx, after)
	if err != nil {
		return buffer, after, err
	}
	for _, entry := range p.entries {
		if entry.Revision <= after {
			continue
		}
		if fits(entry) {
			if most--; most < 0 {
				return buffer, after, nil
			}
			buffer = append(buffer, entry)
		}
		after = entry.Revision
	}
	return buffer, after, nil
}

// find returns the page that has the event after a revision, or the last page. Pages start at multiples of their
// length, so that all look for the same ones, and where a page before them ended early since its events are large.
func (h *history) find(ctx context.Context, after engine.Revision) (*page, error) {
	start := max(after/eventPage*eventPage, h.hub.State().Floor(after))
	for {
		p, err := h.page(ctx, start, after)
		if errors.Is(err, engine.ErrCompacted) && start < after {
			start = after // History begins between the two.
			continue
		}
		switch {
		case err != nil:
			return nil, err
		case p.upTo > after:
			return p, nil
		case p.upTo > start:
			start = p.upTo
		case start < p.state.Revision:
			return nil, fmt.Errorf("%w: events after revision %d are missing", engine.ErrCorrupt, start)
		default:
			return p, nil
		}
	}
}

// page returns the page that starts after a revision. It reads a page again that has nothing newer than another
// revision because the table ended there.
func (h *history) page(ctx context.Context, start, newer engine.Revision) (*page, error) {
	p, mine := h.join(start, newer)
	if mine {
		// Others wait for it, even if this watch ends.
		h.load(context.WithoutCancel(ctx), p)
	}
	select {
	case <-p.ready:
		return p, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// join returns a page that is there or being read, or one that the caller has to read.
func (h *history) join(start, newer engine.Revision) (p *page, mine bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if element, ok := h.pages[start]; ok {
		p := element.Value.(*page)
		if !p.endedBefore(newer) {
			h.order.MoveToFront(element)
			return p, false
		}
		h.removeLocked(element)
	}
	p = &page{after: start, upTo: start, ready: make(chan struct{})}
	h.pages[start] = h.order.PushFront(p)
	return p, true
}

// endedBefore reports whether a page ended, up to a revision, because the table did.
func (p *page) endedBefore(newer engine.Revision) bool {
	select {
	case <-p.ready:
		return p.upTo <= newer && p.upTo >= p.state.Revision
	default:
		return false
	}
}

// load reads a page, and keeps it if it is fit for others.
func (h *history) load(ctx context.Context, p *page) {
	h.gate.enter(p.after)
	defer h.gate.leave()
	tableReads.Inc()
	events, state, err := h.engine.Events(ctx, p.after, int(eventPage-p.after%eventPage))
	entries := newEntries(events)
	h.hub.Adopt(entries)
	h.mu.Lock()
	defer h.mu.Unlock()
	p.entries, p.state, p.err = entries, state, err
	for _, entry := range entries {
		p.upTo = entry.Revision
		p.bytes += entry.Cost()
	}
	close(p.ready)
	element, ok := h.pages[p.after]
	if !ok || element.Value != p {
		return // Cleared meanwhile.
	}
	h.bytes += p.bytes
	if err != nil || len(events) == 0 || state.Incarnation != h.hub.State().Incarnation {
		h.removeLocked(element)
	}
	h.evictLocked()
}

// evictLocked forgets the pages that were unused for the longest time, except a few and those that are being read.
func (h *history) evictLocked() {
	for element := h.order.Back(); element != nil && h.bytes > h.limit && h.order.Len() > pageReaders; {
		before := element.Prev()
		if element.Value.(*page).bytes > 0 {
			h.removeLocked(element)
		}
		element = before
	}
}

func (h *history) removeLocked(element *list.Element) {
	p := h.order.Remove(element).(*page)
	delete(h.pages, p.after)
	h.bytes -= p.bytes
}

// clear forgets all pages: they are of another incarnation.
func (h *history) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages, h.bytes = map[engine.Revision]*list.Element{}, 0
	h.order.Init()
}

func newEntries(events []engine.Event) []*hub.Entry[change] {
	entries := make([]*hub.Entry[change], len(events))
	for i := range events {
		entries[i] = hub.NewEntry[change](events[i])
	}
	return entries
}

// gate admits a few at a time: alternately the waiter for the oldest revision and the one that has waited longest. The
// former makes those who are far behind catch up with the others, so that they share what is read from then on; the
// latter keeps them from stopping the others.
type gate struct {
	mu   sync.Mutex
	free int
	// waiting in the order in which they came.
	waiting []gateWaiter
	fair    bool
}

type gateWaiter struct {
	revision engine.Revision
	open     chan struct{}
}

// enter waits for a place. Leave must be called. There is no context: those who are
// through are quick, and several wait for what each of them brings.
func (g *gate) enter(revision engine.Revision) {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return
	}
	open := make(chan struct{})
	g.waiting = append(g.waiting, gateWaiter{revision, open})
	g.mu.Unlock()
	<-open
}

// leave gives the place to the next one.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.free++
		return
	}
	next := 0
	if g.fair = !g.fair; !g.fair {
		for i, w := range g.waiting {
			if w.revision < g.waiting[next].revision {
				next = i
			}
		}
	}
	close(g.waiting[next].open)
	g.waiting = append(g.waiting[:next], g.waiting[next+1:]...)
}
