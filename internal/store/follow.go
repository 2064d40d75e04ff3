// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// feed takes the events of this process's commits.
func (s *Store) feed(events []engine.Event, state engine.State) {
	if !s.hub.Offer(newEntries(events), state) {
		// Another process committed in between, or the database is of a new
		// incarnation: the follower sorts it out from the event table.
		s.wake()
	}
}

// wake asks the follower to read events now.
func (s *Store) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// followInterval is how often the follower looks for events without having been told of any.
const followInterval = time.Second

// followPause is the least time between two reads of the follower, and so the longest that a commit of another
// process waits here before it is read.
const followPause = 10 * time.Millisecond

// follow keeps the hub up to date with commits of other processes.
func (s *Store) follow(ctx context.Context) error {
	ticker := s.options.Clock.NewTicker(followInterval)
	defer ticker.Stop()
	s.fill(ctx)
	s.running.Store(true)
	var failing bool
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.engine.Wake():
		case <-s.kick:
		case <-ticker.C():
		}
		// While others commit all the time, several of their commits are read at once.
		if !s.pause(ctx, followPause-s.options.Clock.Since(last)) {
			return nil
		}
		err := s.catchUp(ctx)
		last = s.options.Clock.Now()
		if ctx.Err() != nil {
			return nil
		}
		watchLag.Set(s.lag().Seconds())
		if (err != nil) != failing {
			failing = err != nil
			s.logFollowing(err)
		}
	}
}

// pause waits, and returns false when ctx has ended.
func (s *Store) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := s.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// logFollowing tells of the first failure to read events and of the first
// success after it; readiness and a metric show the time between.
func (s *Store) logFollowing(err error) {
	if err != nil {
		klog.ErrorS(err, "Can't read events from the database; retrying every second", "database", s.options.Database)
		return
	}
	klog.InfoS("Reading events from the database again", "database", s.options.Database)
}

// eventPage is how many events are read from the event table at once.
const eventPage = 500

// catchUp reads events until the hub has all that are committed.
func (s *Store) catchUp(ctx context.Context) error {
	ctx = engine.Urgent(ctx)
	for {
		known := s.hub.State()
		events, state, err := s.engine.Events(ctx, known.Revision, s.wanted())
		if errors.Is(err, engine.ErrCompacted) {
			if state, err = s.engine.State(ctx); err != nil {
				return err
			}
			why := "its events were dropped before this process read them"
			if state.Gap.Has(known.Revision) {
				why = "a failover lost changes that this process had read"
			}
			s.reset(state, why)
			continue
		}
		if err != nil {
			return err
		}
		if state.Incarnation != known.Incarnation {
			s.change(known, state)
			continue
		}
		if !s.hub.Append(newEntries(events), state) {
			s.reset(state, "revisions are missing in the event table")
			continue
		}
		if s.hub.State().Revision >= state.Revision {
			s.followed.Store(s.options.Clock.Now().UnixNano())
			return nil
		}
	}
}

// wanted is how many events the hub lacks, if that is known: it has the commits of this process.
func (s *Store) wanted() int {
	if missing := s.hub.Missing(); missing > 0 {
		return min(missing, eventPage)
	}
	return eventPage
}

// change moves the hub to another incarnation. Watchers continue, except those that saw what the database lost.
func (s *Store) change(known, state engine.State) {
	if gap := state.Gap; !gap.Follows(known.Incarnation) || known.Revision > gap.After {
		s.reset(state, "the database was restored or failed over")
		return
	}
	klog.InfoS("The database failed over without losing anything that this process has read: watches continue", "revision", state.Revision, "has", state.Gap.After)
	s.move(state)
}

// reset moves the hub to a state without the events before it. Watchers that
// had not come that far end with 410 Expired, unless a gap in history lets them go on.
func (s *Store) reset(state engine.State, why string) {
	feedResets.Inc()
	klog.InfoS("Watches restart", "reason", why, "revision", state.Revision, "compacted", state.Compacted)
	s.move(state)
}

func (s *Store) move(state engine.State) {
	s.cache.clear()
	s.history.clear()
	s.hub.Reset(state)
}

// fillTimeout bounds how long filling the ring keeps the store from being ready.
const fillTimeout = 5 * time.Second

// fill reads the newest events into the ring, from the newest one back. It is done before the store is ready: the
// watchers of the process that ran before this one come as soon as it is, all at once.
func (s *Store) fill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	for size := engine.Revision(eventPage); size > 0; {
		oldest := s.hub.Oldest()
		after := max(oldest-1-size, s.hub.State().Floor(oldest-1))
		if after+1 >= oldest {
			return
		}
		events, state, err := s.engine.Events(engine.Urgent(ctx), after, int(oldest-1-after))
		switch {
		case err != nil && !errors.Is(err, engine.ErrCompacted):
			klog.ErrorS(err, "Can't read the newest events at startup; watches that continue from earlier ones will read them")
			return
		case err != nil, len(events) == 0:
			return
		case events[len(events)-1].Revision+1 < oldest:
			size /= 2 // They are so large that this is a part of them.
		case !s.hub.Prepend(newEntries(events), state.Incarnation):
			return // The ring is full.
		}
	}
}
