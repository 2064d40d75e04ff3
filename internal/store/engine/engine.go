// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"
)

// Engine is the share of one cluster in a database: its objects, and the rows that are derived from them. Questions is
// the other contract, for those who ask about results. All methods are safe for concurrent use, honour their context,
// and return errors of the classes in errors.go. Byte slices that are passed in are not changed or kept after the call;
// those returned belong to the caller.
type Engine interface {
	Derivations
	Replicas

	// Prepare does what of an op takes long and can be done before its turn, and leaves in op.Prepared what
	// Commit is to know of it. Readers see nothing of that before the commit. release must be called once
	// Commit has returned, or is not waited for any more: what was prepared and not used is removed eventually.
	Prepare(ctx context.Context, op *Op) (release func(), err error)

	// Commit applies ops in one durable transaction and returns an outcome for each, in order. An op whose condition
	// fails changes nothing, takes no revision and does not disturb its neighbours. Ops that apply take consecutive
	// revisions in the order of ops. No two ops may name the same resource and key. When Commit returns an error
	// nothing was applied, except where errors.Is(err, ErrUnknownOutcome).
	Commit(ctx context.Context, ops []Op) (Batch, error)

	// Get returns the current row at a key, nil when there is none, and the
	// state of the snapshot that it was read from.
	Get(ctx context.Context, resource Resource, key string) (*Row, State, error)

	// List returns the rows that q selects, ordered bytewise by key, from one snapshot.
	List(ctx context.Context, q Query) (Page, error)

	// Events returns events with a revision above after, in order and without gaps except State.Gap, at most limit of
	// them (fewer when they are large, but one at least), and the state of the snapshot. limit is positive.
	// ErrCompacted when events above after are gone, or after was left out.
	Events(ctx context.Context, after Revision, limit int) ([]Event, State, error)

	// State returns the committed state, never a cached one.
	State(ctx context.Context) (State, error)

	// Stats returns count and size of the objects of a resource.
	Stats(ctx context.Context, resource Resource) (Stats, error)

	// Usage returns figures for metrics. It may be slow (100 ms).
	Usage(ctx context.Context) (Usage, error)

	// Compact drops events up to and including upTo in small slices. Reads at revisions below upTo fail from the first
	// moment on; a read at upTo works. A value at or below the present mark is a no-op, one above the current revision
	// is an error.
	Compact(ctx context.Context, upTo Revision) error

	// Horizon returns the highest revision whose event is older than keep by the clock of the database, or that lies
	// before the newest maxBytes of history; zero when all history is within both limits. maxBytes of zero: no limit.
	Horizon(ctx context.Context, keep time.Duration, maxBytes int64) (Revision, error)

	// Expired returns at most limit rows whose ExpiresAt has passed by the clock
	// of the database. Their Value is not filled in.
	Expired(ctx context.Context, limit int) ([]ResourceRow, error)

	// Derive replaces the index terms and result rows of objects that are still
	// at the given revision, unless a newer version derived them; others are left alone. It takes no revision and
	// makes no event: derived rows are rebuilt from objects, never the reverse.
	Derive(ctx context.Context, items []Derived) error

	// Tidy removes what no row refers to any more (verdicts, subjects) and gives
	// space back to the file system where the engine can. Bounded work a call.
	Tidy(ctx context.Context) error

	// Tally moves what commits changed to the counters of results, and rebuilds those that rows written by hand have
	// voided. Views are right without it, and quicker after it. Bounded work a call, except when it counts everything.
	Tally(ctx context.Context) error

	// Analyze has the database look at tables that it takes for empty and that no longer are, where it
	// plans by what it saw last. Bounded work a call.
	Analyze(ctx context.Context) error

	// Wake returns a channel that receives after a commit of another process may
	// have happened. Nil when there is no other process. It is never closed.
	Wake() <-chan struct{}

	// Close releases everything. Calls under way end with an error.
	Close() error
}

// Derived names an object and the rows that follow from it.
type Derived struct {
	Resource   Resource
	Key        string
	Revision   Revision
	Index      []Term
	Projection *Projection
	// Derivation is the version that Index and Projection were derived by.
	Derivation Derivation
}

// Stats of the objects of one resource.
type Stats struct {
	Objects int64
	// Bytes is the sum of Value.Size: uncompressed lengths.
	Bytes int64
}

// EventOverhead is about what an event takes in a database beside its key and its
// previous value, in bytes: a row, and its entries in two indexes.
const EventOverhead = 300

// EventBytes is about what an event takes in history: what Horizon counts.
func EventBytes(key string, previous Value) int64 {
	return EventOverhead + int64(len(key)) + int64(len(previous.Data))
}

// Usage of a database by one cluster.
type Usage struct {
	// DatabaseBytes is the size of the whole database on disk, other clusters included.
	DatabaseBytes int64
	// Events is the number of events in history, HistoryBytes the sum of their EventBytes.
	Events       int64
	HistoryBytes int64
	// Oldest is the time of the oldest event; zero without events.
	Oldest time.Time
	// Results is the number of result rows of the cluster.
	Results int64
}

// Advancer is an engine whose revisions can be moved far ahead on purpose, as they
// are after a failover: when clients come that hold revisions of another store.
type Advancer interface {
	// Advance sets the current revision to to, or to the next one if that is higher, drops all history before it, and
	// starts a new incarnation. It returns the state after that. Objects stay as they are, with their revisions.
	Advance(ctx context.Context, to Revision) (State, error)
}

// Poller is an engine that can't always be told of commits of other processes.
type Poller interface {
	// Polls reports whether it has to ask for them, which is later and costs more.
	Polls() bool
}

type urgentKey struct{}

// Urgent returns a context for the one reader of an engine that all others depend on: the calls with it don't wait
// behind theirs. Two such calls at a time have to be enough.
func Urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

// IsUrgent reports whether a context is from Urgent.
func IsUrgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }
