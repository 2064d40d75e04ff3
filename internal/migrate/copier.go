// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/docket-project/docket/internal/server/imports"
)

// copier copies the objects of some kinds from one side to the other, in any direction.
type copier struct {
	kinds []imports.Kind
	from  reader
	to    destination
	// state has the checkpoint of each kind: the resource version of the source up to
	// which everything was imported.
	state *State
	tally *tally
}

// pairs joins the lists of the two sides. It writes the resource version of the source to
// version, unless that is nil.
func (c *copier) pairs(ctx context.Context, kind imports.Kind, wholeFrom, wholeTo bool, version *string) iter.Seq2[pair, error] {
	return join(c.from.list(ctx, kind, wholeFrom, version), c.to.list(ctx, kind, wholeTo, nil))
}

// reconcile makes the destination equal to the source, as far as mode allows.
func (c *copier) reconcile(ctx context.Context, mode imports.Mode) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, kind := range c.kinds {
		group.Go(func() error { return describe(kind, c.reconcileKind(ctx, kind, mode)) })
	}
	return group.Wait()
}

// reconcileKind imports the differences between the two sides. The first time it reads
// whole objects from the source, later only metadata and the objects that differ.
func (c *copier) reconcileKind(ctx context.Context, kind imports.Kind, mode imports.Mode) error {
	imported := c.state.imported(kind)
	var version string
	b := &batch{copier: c, kind: kind, mode: mode}
	for p, err := range c.pairs(ctx, kind, imported == 0, false, &version) {
		if err != nil {
			return err
		}
		if err := c.importPair(ctx, b, p, imported); err != nil {
			return err
		}
	}
	if err := b.flush(ctx); err != nil {
		return err
	}
	c.state.setCheckpoint(kind, version)
	return nil
}

// importPair imports an object that differs. imported is the checkpoint of the kind; 0 before the
// first one.
func (c *copier) importPair(ctx context.Context, b *batch, p pair, imported uint64) error {
	// Clients write to the destination, and had these objects before.
	tailing := b.mode == imports.Tail && imported != 0
	switch {
	case p.from == nil && (b.mode == imports.Mirror || b.mode == imports.Replace):
		// Only the migration writes to the destination: the source has deleted the object.
		return b.add(ctx, queued{item: p.to.deletion(b.kind, 0)})
	case p.from == nil:
		return nil
	case c.same(p):
		c.tally.one(imports.Same)
		return nil
	case tailing && p.to == nil && p.from.version <= imported:
		c.tally.one(imports.Gone)
		return nil
	case tailing && p.to != nil && !p.to.marked:
		c.tally.one(imports.Kept)
		return nil
	}
	q := queued{item: p.from.item(b.kind, imported != 0 && p.from.version <= imported)}
	q.item.Absent = p.to == nil
	if p.from.object == nil {
		q.fetch = p.from
	}
	return b.add(ctx, q)
}

// same reports whether the mark at the destination shows that this state of the object was
// imported.
func (c *copier) same(p pair) bool {
	return p.to != nil && p.to.marked && p.from.version != 0 && p.to.mark.Version == p.from.version &&
		(c.to.scope == imports.Portable || p.to.uid == p.from.uid)
}

// followWhile imports the events of the source, if it can be watched, while f runs, and
// reconciles afterwards.
func (c *copier) followWhile(ctx context.Context, mode imports.Mode, f func(context.Context) error) error {
	cancelable, stop := context.WithCancel(ctx)
	defer stop()
	group, followCtx := errgroup.WithContext(cancelable)
	if source, ok := c.from.(watcher); ok {
		for _, kind := range c.kinds {
			group.Go(func() error { return describe(kind, c.follow(followCtx, source, kind, mode)) })
		}
	}
	err := f(followCtx) // An error of a watch ends f.
	stop()
	if ctx.Err() == nil && errors.Is(err, context.Canceled) {
		err = nil // The error of the watch is the cause.
	}
	if err := errors.Join(group.Wait(), err); err != nil {
		return err
	}
	return c.reconcile(ctx, mode)
}

// follow imports the events of a kind until ctx ends, and reconciles whenever a watch has
// expired.
func (c *copier) follow(ctx context.Context, source watcher, kind imports.Kind, mode imports.Mode) error {
	for {
		err := c.followWatch(ctx, source, kind, mode)
		if errors.Is(err, errExpired) {
			err = c.reconcileKind(ctx, kind, mode)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // The end of the context has broken it off.
		case err != nil:
			return err
		}
	}
}

// followWatch imports the events after the checkpoint until ctx ends or the watch
// expires. An interruption loses nothing: the checkpoint only covers imported events.
func (c *copier) followWatch(ctx context.Context, source watcher, kind imports.Kind, mode imports.Mode) error {
	group, ctx := errgroup.WithContext(ctx)
	events := make(chan event) // Unbuffered: the batch is the buffer.
	group.Go(func() error {
		defer close(events)
		return source.watch(ctx, kind, c.state.checkpoint(kind), func(e event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	group.Go(func() error { return c.importEvents(ctx, kind, mode, events) })
	return group.Wait()
}

// importEvents imports events until the channel is closed.
func (c *copier) importEvents(ctx context.Context, kind imports.Kind, mode imports.Mode, events <-chan event) error {
	b := &batch{copier: c, kind: kind, mode: mode}
	version := ""
	flush := func() error {
		if err := b.flush(ctx); err != nil || version == "" {
			return err
		}
		c.state.setCheckpoint(kind, version)
		return nil
	}
	var due <-chan time.Time
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return flush()
			}
			if e.entry != nil {
				if err := b.add(ctx, queued{item: e.item(kind)}); err != nil {
					return err
				}
			}
			version = e.version
			if due == nil {
				due = c.to.retry.clock.NewTimer(batchDelay).C()
			}
		case <-due:
			due = nil
			if err := flush(); err != nil {
				return err
			}
		}
	}
}

// describe adds the kind to an error.
func describe(kind imports.Kind, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", kind.GroupResource(), err)
}
