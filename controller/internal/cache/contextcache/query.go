// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/policy"
)

// tally counts queries. The planner hands it on to the metrics.
type tally struct{ hits, misses, errors atomic.Int64 }

// Query implements [policy.Entries]. An entry that was evicted is loaded
// again, and waited for.
func (c *Cache) Query(ctx context.Context, query policy.Query) (any, error) {
	result, err := c.query(ctx, query)
	if err != nil {
		c.tally.errors.Add(1)
		return nil, fmt.Errorf("%s: %w", title(query.Entry), err)
	}
	return result, nil
}

func (c *Cache) query(ctx context.Context, query policy.Query) (any, error) {
	count := &c.tally.hits
	for {
		index := c.index.Load()
		e, err := c.lookup(index, query)
		if err != nil {
			return nil, err
		}
		var last *state
		var changed <-chan struct{}
		if e != nil && e.data != nil {
			e.data.touch()
			last = e.data.state.Load()
			switch last.verdict() {
			case answers:
				count.Add(1)
				return search(ctx, e.definition, last.data, query)
			case fails:
				if last.phase != evicted {
					return nil, last.failure()
				}
				e.data.missed.Store(true)
				c.enforceSoon() // Which loads it again once its pause has ended.
				changed = last.changed
			case undecided:
				changed = last.changed
			}
		}
		count = &c.tally.misses
		select {
		case <-changed:
		case <-index.changed:
		case <-ctx.Done():
			return nil, waited(last, context.Cause(ctx))
		}
	}
}

// lookup returns the entry of a query, if it is valid and the query may read it; neither an entry nor an
// error while that is not known. What only the query declares is kept from now on.
func (c *Cache) lookup(in *index, query policy.Query) (*entry, error) {
	e, err := in.find(query.Entry)
	if err != nil {
		return nil, err
	}
	if e != nil {
		if err := e.definition.permit(query); err != nil {
			return nil, err
		}
		return e, e.err
	}
	if query.Entry.Kind != "" {
		return nil, nil // Not known.
	}
	if err := (&definition{id: query.Entry}).permit(query); err != nil {
		return nil, err
	}
	return nil, c.addInline(query.Entry)
}

// waited says that data were not there in time, and what may be the reason.
func waited(last *state, cause error) error {
	if last == nil || last.err == nil {
		return fmt.Errorf("still loading: %w", cause)
	}
	if last.phase == evicted {
		return fmt.Errorf("not loaded in time: %w; %w", cause, last.err)
	}
	return fmt.Errorf("still loading: %w, after: %w", cause, last.err)
}

// search evaluates the expression of a query. Resources are a bare array for a globalReference, and
// for the projections of a GlobalContextEntry; the answer of a call is what it is.
func search(ctx context.Context, d *definition, from data, query policy.Query) (any, error) {
	kind, expression, aliases := query.Entry.Kind, query.Expression, []string{query.Alias}
	if query.Projection != "" {
		if keys, found := d.indexes[query.Projection]; found {
			return lookUp(ctx, from, query, keys)
		}
		projection, found := d.projections[query.Projection]
		if !found {
			return nil, fmt.Errorf("has no projection or index %q%s: add it to spec.projections, or correct the name in the policy", query.Projection, d.names())
		}
		kind, aliases = d.id.Kind, nil
		if expression = projection; query.Expression != "" {
			expression = fmt.Sprintf("(%s) | (%s)", projection, query.Expression)
		}
	} else if query.Alias == "" {
		aliases = nil
	}
	shape := table.List
	if d.resource != nil && kind == policy.GlobalContextEntry {
		shape = table.Array
	}
	return from.Search(ctx, shape, expression, aliases...)
}

// lookUp returns an index.
func lookUp(ctx context.Context, from data, query policy.Query, keys string) (any, error) {
	objects, ok := from.(*table.Table)
	if !query.Indexes || !ok {
		return nil, fmt.Errorf("%q is an index, which CEL can read: in JMESPath, filter by equality (items[?metadata.name=='…']), which is as quick", query.Projection)
	}
	index, err := objects.Index(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", query.Projection, err)
	}
	return index, nil
}

// errNotKnown is what [Cache.Ready] says before the API has said what it serves.
var errNotKnown = errors.New("the API has not said yet what it serves")
