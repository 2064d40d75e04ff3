// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// maxDamaged is how many objects that can't be read an error of RebuildResults names.
const maxDamaged = 20

// rebuildPage is how many objects are derived again at once: a transaction that other writers wait for.
const rebuildPage = 100

// RebuildResults rebuilds the index terms and result rows of all objects of the store's resources from the objects, for
// example after they were switched on or a new version derives more. Writers may go on meanwhile. progress gets the
// number of objects that are done, and of all; it may be nil. An object that can't be read keeps nobody else's rows
// from being made: the error at the end names it.
func (s *Store) RebuildResults(ctx context.Context, progress func(done, total int64)) error {
	resources := s.derived()
	var done, total int64
	for _, r := range resources {
		stats, err := s.engine.Stats(ctx, r.resource)
		if err != nil {
			return fmt.Errorf("count %s: %w", r.label, err)
		}
		total += stats.Objects
	}
	var damaged damage
	for _, r := range resources {
		err := r.rebuild(ctx, &damaged, func(n int) {
			done += int64(n)
			if progress != nil {
				progress(min(done, total), total)
			}
		})
		if err != nil {
			return fmt.Errorf("rebuild %s: %w", r.label, errors.Join(err, damaged.err()))
		}
	}
	return damaged.err()
}

// damage is what is wrong with objects that can't be read.
type damage struct {
	errs []error
	more int
}

func (d *damage) add(label, key string, err error) {
	if len(d.errs) == maxDamaged {
		d.more++
		return
	}
	d.errs = append(d.errs, fmt.Errorf("%s %s: %w", label, key, err))
}

func (d *damage) err() error {
	switch {
	case len(d.errs) == 0:
		return nil
	case d.more > 0:
		return errors.Join(append(d.errs, fmt.Errorf("and %d more objects", d.more))...)
	}
	return errors.Join(d.errs...)
}

// RebuildResultsOf is RebuildResults for one resource, beside all other work. The log names objects that can't be read.
func (s *Store) RebuildResultsOf(ctx context.Context, resource schema.GroupResource) error {
	for _, r := range s.derived() {
		if r.resource != StoredAs(resource) {
			continue
		}
		var damaged damage
		start := s.options.Clock.Now()
		err := r.rebuild(ctx, &damaged, func(n int) {
			derivedObjects.WithLabelValues(r.label).Add(float64(n))
			s.pause(ctx, s.options.Clock.Since(start)) // Half of the time belongs to others.
			start = s.options.Clock.Now()
		})
		if err != nil {
			return err
		}
		r.logDamage(&damaged)
	}
	return nil
}

func (r *Resource) logDamage(d *damage) {
	if err := d.err(); err != nil {
		klog.ErrorS(err, "Some objects can't be read: they get no index terms and no result rows", "resource", r.label)
	}
}

func (r *Resource) rebuild(ctx context.Context, damaged *damage, did func(n int)) error {
	q := engine.Query{Resource: r.resource, Limit: rebuildPage}
	for {
		page, err := r.store.engine.List(ctx, q)
		if err != nil || len(page.Rows) == 0 {
			return err
		}
		for rows := page.Rows; len(rows) > 0; {
			if err := r.store.engine.Derive(ctx, r.deriveAll(ctx, rows, damaged)); err != nil {
				return err
			}
			if rows, err = r.changed(ctx, rows); err != nil {
				return err
			}
		}
		did(len(page.Rows))
		q.After = page.Rows[len(page.Rows)-1].Key
		if !page.More {
			return nil
		}
	}
}

// changed returns the present rows of objects that were written in between. Nothing was derived of the earlier rows,
// and a write keeps derived rows if it changes nothing that they are made of.
func (r *Resource) changed(ctx context.Context, rows []engine.Row) ([]engine.Row, error) {
	var changed []engine.Row
	for _, row := range rows {
		now, _, err := r.store.engine.Get(ctx, r.resource, row.Key)
		if err != nil {
			return nil, err
		}
		if now != nil && now.Revision != row.Revision {
			changed = append(changed, *now)
		}
	}
	return changed, nil
}

// deriveAll derives what can be derived.
func (r *Resource) deriveAll(ctx context.Context, rows []engine.Row, damaged *damage) []engine.Derived {
	items := make([]engine.Derived, 0, len(rows))
	for _, row := range rows {
		object, err := r.object(ctx, row, r.store.cache.offer)
		if err != nil {
			damaged.add(r.label, row.Key, err)
			continue
		}
		terms, projection, err := r.derived(object)
		if err != nil {
			damaged.add(r.label, row.Key, err)
			continue
		}
		items = append(items, engine.Derived{Resource: r.resource, Key: row.Key, Revision: row.Revision, Index: terms, Projection: projection, Derivation: r.store.options.Derivation})
	}
	return items
}
