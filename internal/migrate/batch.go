// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/docket-project/docket/internal/imports"
)

// Bounds of a batch of imports.
const (
	batchItems = 250
	batchBytes = 4 << 20
	// batchDelay is how long an event of a watch waits for others.
	batchDelay = 20 * time.Millisecond
	// fetchers is how many reports are read at once that a list showed only in part.
	fetchers = 16
)

// batch gathers items.
type batch struct {
	copier *copier
	mode   imports.Mode
	items  []imports.Item
	bytes  int
	// later are reports that have to be read first.
	later []later
}

type later struct {
	*entry

	known bool
}

func (b *batch) add(ctx context.Context, item imports.Item) error {
	b.items = append(b.items, item)
	b.bytes += len(item.Object)
	if len(b.items)+len(b.later) >= batchItems || b.bytes >= batchBytes {
		return b.flush(ctx)
	}
	return nil
}

func (b *batch) addLater(ctx context.Context, e *entry, known bool) error {
	b.later = append(b.later, later{e, known})
	if len(b.items)+len(b.later) >= batchItems {
		return b.flush(ctx)
	}
	return nil
}

// flush imports what was gathered.
func (b *batch) flush(ctx context.Context) error {
	if err := b.fetch(ctx); err != nil {
		return err
	}
	if len(b.items) == 0 {
		return nil
	}
	outcomes, err := b.copier.to.write(ctx, imports.Request{Mode: b.mode, Items: b.items})
	if err != nil {
		return err
	}
	b.copier.tally.count(b.copier.kind, b.items, outcomes)
	b.items, b.bytes = nil, 0
	return nil
}

// fetch reads the reports that are to come later. One that is gone by now is left to
// the watch, which delivers its deletion.
func (b *batch) fetch(ctx context.Context) error {
	found := make([]*entry, len(b.later))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(fetchers)
	for i, e := range b.later {
		group.Go(func() (err error) {
			found[i], err = b.copier.from.get(groupCtx, b.copier.kind, e.namespace, e.name)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, e := range found {
		if e != nil {
			// As known as it was in the list: it may have been recreated since.
			known := b.later[i].known && e.version == b.later[i].version
			b.items = append(b.items, e.item(b.copier.kind, known))
		}
	}
	b.later = nil
	return nil
}
