// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	"github.com/docket-project/docket/internal/store/engine"
)

// rebuildPage is how many objects are derived anew at once: a transaction
// that other writers wait for.
const rebuildPage = 100

// RebuildResults makes the index terms and result rows of all objects of the
// store's resources anew from the objects, for example after they were
// switched on or a new version derives more. Writers may go on meanwhile: an
// object that changes is derived by its own write. progress is told how many
// of how many objects are done; it may be nil.
func (s *Store) RebuildResults(ctx context.Context, progress func(done, total int64)) error {
	s.resourcesMu.Lock()
	resources := s.resources
	s.resourcesMu.Unlock()
	var done, total int64
	for _, r := range resources {
		stats, err := s.engine.Stats(ctx, r.resource)
		if err != nil {
			return fmt.Errorf("count %s: %w", r.label, err)
		}
		total += stats.Objects
	}
	for _, r := range resources {
		err := r.rebuild(ctx, func(n int) {
			done += int64(n)
			if progress != nil {
				progress(min(done, total), total)
			}
		})
		if err != nil {
			return fmt.Errorf("rebuild %s: %w", r.label, err)
		}
	}
	return nil
}

func (r *Resource) rebuild(ctx context.Context, did func(n int)) error {
	q := engine.Query{Resource: r.resource, Limit: rebuildPage}
	for {
		page, err := r.store.engine.List(ctx, q)
		if err != nil || len(page.Rows) == 0 {
			return err
		}
		items := make([]engine.Derived, len(page.Rows))
		for i, row := range page.Rows {
			object, err := r.object(ctx, row, r.store.cache.offer)
			if err != nil {
				return fmt.Errorf("object %s: %w", row.Key, err)
			}
			terms, projection, err := r.derived(object)
			if err != nil {
				return fmt.Errorf("object %s: %w", row.Key, err)
			}
			items[i] = engine.Derived{Resource: r.resource, Key: row.Key, Revision: row.Revision, Index: terms, Projection: projection}
		}
		if err := r.store.engine.Derive(ctx, items); err != nil {
			return err
		}
		did(len(items))
		q.After = page.Rows[len(page.Rows)-1].Key
		if !page.More {
			return nil
		}
	}
}
