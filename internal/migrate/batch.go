// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/docket-project/docket/internal/server/imports"
)

// Bounds of a batch of imports.
const (
	batchItems = 250
	batchBytes = 4 << 20
	// batchDelay is how long an event of a watch waits for others.
	batchDelay = 20 * time.Millisecond
	// fetchers is the number of objects that are read at once.
	fetchers = 16
)

// batch gathers the items of a kind, and imports them together.
type batch struct {
	copier *copier
	kind   imports.Kind
	mode   imports.Mode
	queue  []queued
	bytes  int
}

// queued is an item. If fetch is set, its object has yet to be read.
type queued struct {
	item  imports.Item
	fetch *entry
}

func (b *batch) add(ctx context.Context, q queued) error {
	b.queue = append(b.queue, q)
	b.bytes += len(q.item.Object)
	if len(b.queue) >= batchItems || b.bytes >= batchBytes {
		return b.flush(ctx)
	}
	return nil
}

// flush imports what was gathered.
func (b *batch) flush(ctx context.Context) error {
	items, err := b.items(ctx)
	if err != nil {
		return err
	}
	b.queue, b.bytes = nil, 0
	if len(items) == 0 {
		return nil
	}
	outcomes, err := b.copier.to.write(ctx, b.mode, items)
	if err != nil {
		return err
	}
	b.copier.tally.count(b.kind, items, outcomes)
	return nil
}

// items returns the gathered items, and reads the objects of those that lack them. A
// object that no longer exists is left to the watch, which delivers its deletion.
func (b *batch) items(ctx context.Context) ([]imports.Item, error) {
	items := make([]imports.Item, len(b.queue))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchers)
	for i, q := range b.queue {
		items[i] = q.item
		if q.fetch == nil {
			continue
		}
		group.Go(func() error {
			found, err := b.copier.from.get(ctx, b.kind, q.fetch.namespace, q.fetch.name)
			if err != nil || found == nil {
				return err
			}
			// It may have been recreated since it was listed: then it isn't known.
			items[i] = found.item(b.kind, q.item.Known && found.version == q.fetch.version)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(items, func(item imports.Item) bool { return item.Object == nil && item.Delete == nil }), nil
}
