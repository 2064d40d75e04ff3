// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// A range of the primary key of event; for each the row of its key, which has
	// the event's value when nothing came after it.
	selectEvents = `SELECT e.revision, e.kind, r.name, e.key, e.created,
e.previous_revision, e.previous_size, e.previous_codec, e.previous_data, e.committed_at,
e.resource, o.size, o.codec, o.data
FROM event e CROSS JOIN resource r ON r.id = e.resource
LEFT JOIN object o ON o.cluster = e.cluster AND o.resource = e.resource AND o.key = e.key AND o.revision = e.revision
WHERE e.cluster = ? AND e.revision > ? ORDER BY e.revision LIMIT ?`
	// event_key: one row.
	selectNextEvent = `SELECT previous_size, previous_codec, previous_data FROM event INDEXED BY event_key
WHERE cluster = ? AND resource = ? AND key = ? AND revision > ? ORDER BY revision LIMIT 1`
)

// eventPageBytes ends a page of events that has this many bytes of values.
const eventPageBytes = 4 << 20

// Events implements engine.Engine.
func (e *Engine) Events(ctx context.Context, after engine.Revision, limit int) ([]engine.Event, engine.State, error) {
	page := eventPage{waiting: map[place]int{}}
	var state engine.State
	err := e.read(ctx, func(s *snapshot) error {
		state = s.state
		if after < s.state.Compacted {
			return engine.ErrCompacted
		}
		if after >= s.state.Revision {
			return nil
		}
		if err := s.scan(page.add, selectEvents, e.cluster, int64(after), int64(limit)); err != nil {
			return err
		}
		if err := page.check(max(after, 1)); err != nil {
			return err
		}
		return page.fill(s)
	})
	if err != nil {
		return nil, state, classify(fmt.Sprintf("events after %d", after), err)
	}
	return page.events, state, nil
}

// place is a key of a resource.
type place struct {
	resource int64
	key      string
}

// eventPage gathers events and finds their values.
type eventPage struct {
	events []engine.Event
	bytes  int
	// waiting has the events, by key, whose value was not found yet: it is the
	// previous value of the next event of the key.
	waiting map[place]int
	// Of the row under way: a variable of their own for each would be allocated.
	milliseconds, resource int64
}

// add reads a row of selectEvents.
func (p *eventPage) add(row []driver.Value) error {
	last := len(p.events)
	p.events = append(p.events, engine.Event{})
	event := &p.events[last]
	scan(row, &event.Revision, &event.Kind, &event.Resource, &event.Key, &event.Created,
		&event.PreviousRevision, &event.Previous.Size, &event.Previous.Codec, &event.Previous.Data, &p.milliseconds, &p.resource)
	event.Time = time.UnixMilli(p.milliseconds)
	at := place{p.resource, event.Key}
	if i, ok := p.waiting[at]; ok {
		// Callers own what they get, so two events can't share the bytes.
		p.events[i].Value = event.Previous
		p.events[i].Value.Data = append([]byte(nil), event.Previous.Data...)
		delete(p.waiting, at)
	}
	switch current := row[11:]; {
	case current[0] != nil:
		scan(current, values(&event.Value)...)
	case event.Kind != engine.Delete:
		p.waiting[at] = last
	}
	p.bytes += len(event.Previous.Data) + len(event.Value.Data)
	if p.bytes >= eventPageBytes {
		return errStop
	}
	return nil
}

// check is the promise of no gaps.
func (p *eventPage) check(after engine.Revision) error {
	for i := range p.events {
		if after++; p.events[i].Revision != after {
			return fmt.Errorf("%w: event %d follows where %d is due", engine.ErrCorrupt, p.events[i].Revision, after)
		}
	}
	return nil
}

// fill looks up the values that are neither current nor within the page.
func (p *eventPage) fill(s *snapshot) error {
	for at, i := range p.waiting {
		event := &p.events[i]
		found, err := s.one(into(values(&event.Value)...), selectNextEvent, s.engine.cluster, at.resource, at.key, int64(event.Revision))
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%w: the value that revision %d gave to %s is missing", engine.ErrCorrupt, event.Revision, at.key)
		}
	}
	return nil
}
