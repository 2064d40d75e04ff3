// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "context"

// Advancer is an engine whose revisions can be moved far ahead on purpose, as they
// are after a failover: when clients come that hold revisions of another store.
type Advancer interface {
	// Advance makes to, or the next revision if that is higher, the present one,
	// drops all history before it, and starts a new incarnation. It returns the
	// state after that. Objects stay as they are, with their revisions.
	Advance(ctx context.Context, to Revision) (State, error)
}
