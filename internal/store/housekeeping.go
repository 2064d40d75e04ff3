// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// How often the parts of housekeeping are done. Every process does them; the engine lets one at a time through.
const (
	compactInterval = time.Minute
	expireInterval  = 5 * time.Second
	tidyInterval    = 10 * time.Minute
	tallyInterval   = 10 * time.Second
	analyzeInterval = 10 * time.Second
	usageInterval   = time.Minute
)

// expirePage is how many expired objects are deleted before looking again.
const expirePage = 500

// keepHouse drops old history, expired objects and unused rows, and measures
// the database. Each part has its own time: one that takes long delays no other.
func (s *Store) keepHouse(ctx context.Context) error {
	var group errgroup.Group
	for _, duty := range []struct {
		what  string
		every time.Duration
		work  func(context.Context) error
	}{
		{"tell other replicas that this one lives", beatInterval, s.live},
		{"drop old history", compactInterval, s.dropHistory},
		{"delete expired objects", expireInterval, s.expire},
		{"tidy up the database", tidyInterval, s.engine.Tidy},
		{"count results", tallyInterval, s.engine.Tally},
		{"look at grown tables", analyzeInterval, s.engine.Analyze},
		{"measure the database", usageInterval, s.measure},
	} {
		group.Go(func() error {
			s.repeat(ctx, duty.what, duty.every, duty.work)
			return nil
		})
	}
	return group.Wait()
}

// repeat does some work at intervals until ctx ends.
func (s *Store) repeat(ctx context.Context, what string, every time.Duration, work func(context.Context) error) {
	ticker := s.options.Clock.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		err := work(ctx)
		if ctx.Err() == nil {
			s.troubles.note(what, err)
		}
	}
}

// dropHistory compacts what exceeds the bounds of history, except for what lists and watches of any process are still
// reading: for them, history may grow to twice its bounds.
func (s *Store) dropHistory(ctx context.Context) error {
	horizon, err := s.engine.Horizon(ctx, s.options.History, int64(s.options.HistoryBytes))
	if err != nil || horizon == 0 {
		return err
	}
	for _, needed := range []engine.Revision{s.readers.lowest(), engine.Revision(s.needed.Load())} {
		if needed > 0 {
			horizon = min(horizon, needed)
		}
	}
	most, err := s.engine.Horizon(ctx, twice(s.options.History), int64(twice(s.options.HistoryBytes)))
	if err != nil {
		return err
	}
	return s.Compact(ctx, max(horizon, most))
}

// twice returns 2n, or the largest number.
func twice[T ~int64](n T) T {
	if n > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return 2 * n
}

// Compact drops events up to a revision: watches and lists can't start below it any more.
func (s *Store) Compact(ctx context.Context, upTo engine.Revision) error {
	if err := s.engine.Compact(ctx, upTo); err != nil {
		return err
	}
	s.hub.Compacted(upTo)
	return nil
}

// expire deletes objects whose time to live has passed.
func (s *Store) expire(ctx context.Context) error {
	for {
		rows, err := s.engine.Expired(ctx, expirePage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := s.deleteExpired(ctx, row.Resource, row.Key, row.Revision); err != nil {
				return err
			}
		}
		if len(rows) < expirePage {
			return nil
		}
	}
}

func (s *Store) deleteExpired(ctx context.Context, resource engine.Resource, key string, revision engine.Revision) error {
	row, _, err := s.engine.Get(ctx, resource, key)
	if err != nil || row == nil || row.Revision != revision {
		return err
	}
	_, err = s.writer.Submit(ctx, engine.Op{Kind: engine.Delete, Resource: resource, Key: key, Expect: revision}, row.Value)
	if errors.Is(err, engine.ErrUnknownOutcome) {
		return nil
	}
	return err
}

func (s *Store) measure(ctx context.Context) error {
	usage, err := s.engine.Usage(ctx)
	if err != nil {
		return err
	}
	observeUsage(usage, s.options.Clock.Now())
	observeHub(s.hub.Stats(), s.cache.stats())
	return nil
}

// troubles logs which housekeeping tasks fail, and when they recover: each once, and an unavailable database once for
// all of them. A metric counts every failure.
type troubles struct {
	mu sync.Mutex
	// failing has each work that failed the last time, and whether that was because the database is away.
	failing map[string]bool
}

// note takes the outcome of some work.
func (t *troubles) note(what string, err error) {
	if err != nil {
		housekeepingErrors.Inc()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	wasAway, failed := t.failing[what]
	isAway := errors.Is(err, engine.ErrUnavailable)
	delete(t.failing, what)
	switch {
	case err == nil && failed && (!wasAway || !t.away()):
		klog.InfoS("Housekeeping works again", "work", what)
	case err != nil && (!failed || wasAway != isAway) && (!isAway || !t.away()):
		klog.ErrorS(err, "Housekeeping fails; will keep retrying", "work", what)
	}
	if err != nil {
		if t.failing == nil {
			t.failing = map[string]bool{}
		}
		t.failing[what] = isAway
	}
}

// away reports whether some work fails because the database is away.
func (t *troubles) away() bool {
	for _, isAway := range t.failing {
		if isAway {
			return true
		}
	}
	return false
}
