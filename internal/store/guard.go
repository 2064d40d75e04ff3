// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"

	"github.com/docket-project/docket/internal/store/engine"
)

// errGuarded says that what the caller took for given before it wrote has changed.
var errGuarded = errors.New("the guard of the write has changed")

type guardKey struct{}

// WithGuard returns a context whose writes, to any resource, happen only while an object of this resource has a resource
// version, or does not exist for 0: the database itself checks it in each commit, so that whoever changes the object knows
// that no such write happens any more, by whatever process. Writes that fail by it are answered with 503 and Retry-After.
func (r *Resource) WithGuard(ctx context.Context, key string, version uint64) context.Context {
	return context.WithValue(ctx, guardKey{}, &engine.Guard{
		Resource: r.resource, Key: r.rest(key), Revision: engine.Revision(version),
	})
}

// submit commits an op under the guard of its context.
func (r *Resource) submit(ctx context.Context, op engine.Op, previous engine.Value) (engine.Outcome, error) {
	op.Guard, _ = ctx.Value(guardKey{}).(*engine.Guard)
	outcome, err := r.store.writer.Submit(ctx, op, previous)
	if err == nil && outcome.Guarded {
		err = errGuarded
	}
	return outcome, err
}
