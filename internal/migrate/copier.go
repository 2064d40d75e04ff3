// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/imports"
	"github.com/docket-project/docket/internal/registry"
)

// source is where reports come from.
type source interface {
	// list returns the reports of a kind, and writes their revision to version.
	list(ctx context.Context, kind registry.Kind, whole bool, version *string) entries
	// get returns a whole report, nil if there is none.
	get(ctx context.Context, kind registry.Kind, namespace, name string) (*entry, error)
	// watch is as api.watch.
	watch(ctx context.Context, kind registry.Kind, version string, changed func(change) error, at func(string)) error
}

// copier brings the reports of one kind to the destination.
type copier struct {
	kind registry.Kind
	from source
	to   destination
	// checkpoint up to which the source was imported.
	checkpoint *Checkpoint
	tally      *tally
	clock      clock.Clock
}

// reconcile makes the destination as the source is now. The first time it reads whole
// reports from the source, later only their metadata and what differs.
func (c *copier) reconcile(ctx context.Context, mode imports.Mode) error {
	known := c.checkpoint.number()
	whole := known == 0
	var version string
	b := &batch{copier: c, mode: mode}
	for pair, err := range join(c.from.list(ctx, c.kind, whole, &version), c.to.list(ctx, c.kind, false)) {
		if err != nil {
			return err
		}
		if err := c.compare(ctx, b, pair[0], pair[1], known); err != nil {
			return err
		}
	}
	if err := b.flush(ctx); err != nil {
		return err
	}
	c.checkpoint.set(version)
	return nil
}

// compare imports what the destination lacks of a report.
func (c *copier) compare(ctx context.Context, b *batch, from, to *entry, known uint64) error {
	switch {
	case from == nil:
		// Only while nobody else writes there: what is not at the source may be new.
		if b.mode == imports.Mirror || b.mode == imports.Replace {
			return b.add(ctx, to.deletion(c.kind, 0))
		}
		return nil
	case to != nil && to.marked && from.version != 0 && to.mark.Version == from.version && (c.to.scope() == imports.Portable || to.uid == from.uid):
		c.tally.one(imports.Same)
		return nil
	case b.mode == imports.Tail && known != 0 && to == nil && from.version <= known:
		c.tally.one(imports.Gone)
		return nil
	case b.mode == imports.Tail && known != 0 && to != nil && !to.marked:
		c.tally.one(imports.Kept)
		return nil
	case from.object != nil:
		item := from.item(c.kind, known != 0 && from.version <= known)
		item.Absent = to == nil
		return b.add(ctx, item)
	}
	return b.addLater(ctx, from, known != 0 && from.version <= known)
}

// follow imports the events after the checkpoint until the context ends, or with
// errGone when they are not in history any more. Ending it loses nothing: the
// checkpoint is that of what was imported.
func (c *copier) follow(ctx context.Context, mode imports.Mode) error {
	group, ctx := errgroup.WithContext(ctx)
	events := make(chan followed) // Unbuffered: the batch is the buffer.
	group.Go(func() error {
		defer close(events)
		send := func(f followed) error {
			select {
			case events <- f:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return c.from.watch(ctx, c.kind, c.checkpoint.get(),
			func(e change) error { return send(followed{change: e}) },
			func(version string) { _ = send(followed{version: version}) }) // Its error ends the watch as well.
	})
	group.Go(func() error { return c.importEvents(ctx, mode, events) })
	return group.Wait()
}

// followed is an event, or a revision up to which there are no more.
type followed struct {
	change

	version string
}

// importEvents imports what comes until events is closed.
func (c *copier) importEvents(ctx context.Context, mode imports.Mode, events <-chan followed) error {
	b := &batch{copier: c, mode: mode}
	version := ""
	flush := func() error {
		if err := b.flush(ctx); err != nil || version == "" {
			return err
		}
		c.checkpoint.set(version)
		return nil
	}
	var due <-chan time.Time
	for {
		select {
		case f, ok := <-events:
			if !ok {
				return flush()
			}
			if f.version != "" {
				version = f.version
			} else if err := b.add(ctx, c.itemOf(f.change)); err != nil {
				return err
			}
			if due == nil {
				due = c.clock.NewTimer(batchDelay).C()
			}
		case <-due:
			due = nil
			if err := flush(); err != nil {
				return err
			}
		}
	}
}

func (c *copier) itemOf(e change) imports.Item {
	if e.deleted {
		return e.deletion(c.kind, e.version)
	}
	// A report that was modified had been imported before.
	return e.item(c.kind, e.modified)
}

// keepFollowing follows until the context ends, and reconciles whenever history has
// moved on.
func (c *copier) keepFollowing(ctx context.Context, mode imports.Mode) error {
	for {
		err := c.follow(ctx, mode)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // It was told to end.
		}
		if !errors.Is(err, errGone) {
			return err
		}
		if err := c.reconcile(ctx, mode); err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // It was told to end.
			}
			return err
		}
	}
}

// Checkpoint is the revision of a source up to which everything was imported.
type Checkpoint struct {
	state *State
	name  string
}

func (p *Checkpoint) get() string { return p.state.checkpoint(p.name) }

func (p *Checkpoint) set(version string) { p.state.setCheckpoint(p.name, version) }

// number is 0 before anything was imported.
func (p *Checkpoint) number() uint64 {
	number, err := strconv.ParseUint(p.get(), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// describe names a kind and what went wrong with it.
func describe(kind registry.Kind, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", kind.GroupResource(), err)
}
