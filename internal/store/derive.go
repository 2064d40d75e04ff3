// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
	"weak"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// deriveInterval is how often to check whether anything has to be derived again.
	deriveInterval = 10 * time.Second
	// derivePage is how many objects are looked at, and derived, at once.
	derivePage = 100
	// deriveBytes is how many bytes of objects are derived at once, beyond the first: large reports one by one.
	deriveBytes = 2 << 20
	// progressInterval is the time between two lines in the log.
	progressInterval = 30 * time.Second
)

// keepDerived makes the index terms and result rows complete at the version that this program derives, beside all
// other work: after an upgrade, and after a replica of an older version has written. Where it stopped is in the rows:
// each knows its version.
func (s *Store) keepDerived(ctx context.Context) error {
	for {
		start := s.options.Clock.Now()
		if err := s.deriveAnew(ctx); ctx.Err() == nil {
			s.troubles.note("derive index terms and result rows anew", err)
		}
		// While an older replica writes, there is always more to do: half of the time is enough.
		if !s.wait(ctx, max(deriveInterval, s.options.Clock.Since(start))) {
			return nil
		}
	}
}

// wait waits for a while or for a new resource, and returns false when ctx has ended.
func (s *Store) wait(ctx context.Context, d time.Duration) bool {
	timer := s.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-s.added:
		return true
	case <-ctx.Done():
		return false
	}
}

// deriveAnew does what there is to do now, in one of the replicas of the newest version.
func (s *Store) deriveAnew(ctx context.Context) error {
	fleet, err := s.beat(ctx)
	if err != nil {
		return err
	}
	for _, r := range s.derived() {
		if err := r.deriveAnew(ctx, fleet.Leads); err != nil {
			return fmt.Errorf("%s: %w", r.label, err)
		}
	}
	return nil
}

// derived returns the resources whose objects have derived rows, one of each key space.
func (s *Store) derived() []*Resource {
	s.resourcesMu.Lock()
	defer s.resourcesMu.Unlock()
	found := make([]*Resource, 0, len(s.resources)+len(s.passing))
	found = append(found, s.resources...)
	for name, pointer := range s.passing {
		if r := pointer.Value(); r != nil {
			found = append(found, r)
		} else {
			delete(s.passing, name)
		}
	}
	return found
}

// add remembers a resource.
func (s *Store) add(r *Resource) {
	s.resourcesMu.Lock()
	defer s.resourcesMu.Unlock()
	if r.config.ManyVersions {
		s.passing[r.resource] = weak.Make(r)
	} else {
		s.resources = append(s.resources, r)
	}
	select {
	case s.added <- struct{}{}:
	default:
	}
}

// deriveAnew derives the rows of all objects that were derived by an older version, if that is this process's to do.
func (r *Resource) deriveAnew(ctx context.Context, leads bool) error {
	e, version := r.store.engine, r.store.options.Derivation
	state, err := e.Derivation(ctx, r.resource)
	if err != nil {
		return err
	}
	observeDerivation(r.label, state.Serves(version))
	if state.Complete >= version || !leads {
		return nil
	}
	w := walk{resource: r, noted: r.store.options.Clock.Now()}
	klog.InfoS("Rebuilding index terms and result rows; until this is done, lists with selectors read all objects",
		"resource", r.label, "from", state.Complete, "to", version)
	mark, err := e.BeginDerivation(ctx, r.resource, version)
	if err != nil {
		return err
	}
	if err := w.run(ctx); err != nil {
		return err
	}
	r.logDamage(&w.damaged)
	finished, err := e.FinishDerivation(ctx, r.resource, version, mark)
	switch {
	case err != nil:
		return err
	case !finished:
		klog.InfoS("Index terms and result rows are incomplete: a replica of an older version wrote in the meantime; "+
			"they are rebuilt for what it wrote", "resource", r.label, "objects", w.done)
		return nil
	}
	observeDerivation(r.label, true)
	klog.InfoS("Index terms and result rows are complete", "resource", r.label, "version", version, "objects", w.done)
	return nil
}

// walk is a walk over the objects of a resource.
type walk struct {
	resource *Resource
	damaged  damage
	done     int
	// noted is when the log was told of the progress.
	noted time.Time
}

func (w *walk) run(ctx context.Context) error {
	s := w.resource.store
	for after := ""; ; {
		start := s.options.Clock.Now()
		found, err := s.engine.Underived(ctx, w.resource.resource, after, s.options.Derivation, derivePage)
		if err != nil {
			return err
		}
		for chunk := range chunks(found.Rows) {
			if err := w.derive(ctx, chunk); err != nil {
				return err
			}
			if !s.pause(ctx, s.options.Clock.Since(start)) { // Half of the time belongs to others.
				return ctx.Err()
			}
			start = s.options.Clock.Now()
		}
		if after = found.Last; after == "" {
			return nil
		}
		if s.options.Clock.Since(w.noted) > progressInterval {
			w.noted = s.options.Clock.Now()
			klog.InfoS("Still rebuilding index terms and result rows", "resource", w.resource.label, "objects", w.done, "upTo", after)
		}
		if !s.pause(ctx, s.options.Clock.Since(start)) {
			return ctx.Err()
		}
	}
}

// chunks splits rows, so that large ones don't hold up others together.
func chunks(rows []engine.Row) iter.Seq[[]engine.Row] {
	return func(yield func([]engine.Row) bool) {
		for len(rows) > 0 {
			n, bytes := 1, int64(rows[0].Size)
			for n < len(rows) && bytes+int64(rows[n].Size) <= deriveBytes {
				bytes += int64(rows[n].Size)
				n++
			}
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

func (w *walk) derive(ctx context.Context, rows []engine.Row) error {
	items := w.resource.deriveAll(ctx, rows, &w.damaged)
	if err := w.resource.store.engine.Derive(ctx, items); err != nil {
		return err
	}
	w.done += len(items)
	derivedObjects.WithLabelValues(w.resource.label).Add(float64(len(items)))
	return nil
}

// beatInterval is how often a process says that it lives: a few times in the minute that one counts.
const beatInterval = 10 * time.Second

var errOutdated = errors.New("the database has a format that this version of Docket can't read: upgrade Docket")

// beat tells other processes on the cluster that this one lives, and what it reads.
func (s *Store) beat(ctx context.Context) (engine.Fleet, error) {
	fleet, err := s.engine.Beat(ctx, s.options.Derivation, s.readers.lowest())
	s.outdated.Store(errors.Is(err, engine.ErrSchema))
	if err == nil {
		s.needed.Store(int64(fleet.Needs))
		observeFleet(fleet)
	}
	return fleet, err
}

func (s *Store) live(ctx context.Context) error {
	_, err := s.beat(ctx)
	return err
}
