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

// How often the parts of housekeeping are done. Every process does them; the
// engine lets one at a time through.
const (
	compactInterval = time.Minute
	expireInterval  = 5 * time.Second
	tidyInterval    = 10 * time.Minute
	usageInterval   = time.Minute
)

// expirePage is how many expired objects are deleted before looking again.
const expirePage = 500

// keepHouse drops old history, expired objects and unused rows, and measures
// the database.
func (s *Store) keepHouse(ctx context.Context) error {
	compact := s.options.Clock.NewTicker(compactInterval)
	defer compact.Stop()
	expire := s.options.Clock.NewTicker(expireInterval)
	defer expire.Stop()
	tidy := s.options.Clock.NewTicker(tidyInterval)
	defer tidy.Stop()
	usage := s.options.Clock.NewTicker(usageInterval)
	defer usage.Stop()
	failing := map[string]bool{}
	for {
		var what string
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-compact.C():
			what, err = "drop old history", s.dropHistory(ctx)
		case <-expire.C():
			what, err = "delete expired objects", s.expire(ctx)
		case <-tidy.C():
			what, err = "tidy up the database", s.engine.Tidy(ctx)
		case <-usage.C():
			what, err = "measure the database", s.measure(ctx)
		}
		if ctx.Err() == nil {
			logHousekeeping(failing, what, err)
		}
	}
}

// logHousekeeping tells of the first failure of some work and of the first success after it; a metric
// counts all failures.
func logHousekeeping(failing map[string]bool, what string, err error) {
	if err != nil {
		housekeepingErrors.Inc()
	}
	was := failing[what]
	failing[what] = err != nil
	switch {
	case err != nil && !was:
		klog.ErrorS(err, "Housekeeping fails; it is tried again and again", "work", what)
	case err == nil && was:
		klog.InfoS("Housekeeping works again", "work", what)
	}
}

// dropHistory compacts what is older or larger than history is to be.
func (s *Store) dropHistory(ctx context.Context) error {
	horizon, err := s.engine.Horizon(ctx, s.options.History, s.options.HistoryBytes)
	if err != nil || horizon == 0 {
		return err
	}
	return s.Compact(ctx, horizon)
}

// Compact drops events up to a revision: watches and lists can't start below
// it any more.
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
