// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/store/engine"
)

// Limits of a batch and of the queue before it.
const (
	// maxOps bounds the latency of a batch: its first op waits for the last.
	maxOps = 128
	// maxBytes of values in a batch, unless a single op is larger.
	maxBytes = 4 << 20
	// queueLength is how many changes may wait. Submit blocks when it is full.
	queueLength = 1024
)

// commitTimeout bounds one commit, so that a database that hangs fails the changes that wait for it.
const commitTimeout = 20 * time.Second

// ErrStopped is returned for changes that came too late.
var ErrStopped = errors.New("writer has stopped")

// Committer is the part of engine.Engine that the writer uses.
type Committer interface {
	Prepare(ctx context.Context, op *engine.Op) (release func(), err error)
	Commit(ctx context.Context, ops []engine.Op) (engine.Batch, error)
}

// Feed receives the events of committed batches, in order. It must not block.
type Feed func(events []engine.Event, state engine.State)

// Writer is a queue of changes. Safe for concurrent use.
type Writer struct {
	engine Committer
	feed   Feed
	clock  clock.PassiveClock
	queue  chan *change
	done   chan struct{}

	// waiting holds changes that were taken from the queue but have to wait for a later batch: another change of their
	// key goes first, or the batch is full. Only Run touches it.
	waiting []*change
	// full says that the last commit found no space. Only Run touches it.
	full bool
}

// change is an op on its way through the writer.
type change struct {
	ctx      context.Context //nolint:containedctx // the context of the one who waits for this change, asked only whether it has ended
	op       engine.Op
	previous engine.Value
	result   chan result
}

type result struct {
	outcome engine.Outcome
	err     error
}

type resourceKey struct {
	resource engine.Resource
	key      string
}

// New returns a writer whose Run commits with committer and tells feed of what was committed.
func New(committer Committer, feed Feed, c clock.PassiveClock) *Writer {
	return &Writer{engine: committer, feed: feed, clock: c, queue: make(chan *change, queueLength), done: make(chan struct{})}
}

// Submit commits an op with whatever else is waiting and returns its outcome. previous is the value that the op
// replaces or deletes: events carry it. When ctx ends before the outcome is known, the op may or may not happen.
func (w *Writer) Submit(ctx context.Context, op engine.Op, previous engine.Value) (engine.Outcome, error) {
	release, err := w.engine.Prepare(ctx, &op)
	if err != nil {
		return engine.Outcome{}, err
	}
	defer release()
	c := &change{ctx: ctx, op: op, previous: previous, result: make(chan result, 1)}
	select {
	case w.queue <- c:
	case <-ctx.Done():
		return engine.Outcome{}, context.Cause(ctx)
	case <-w.done:
		return engine.Outcome{}, ErrStopped
	}
	select {
	case r := <-c.result:
		return r.outcome, r.err
	case <-ctx.Done():
		return engine.Outcome{}, fmt.Errorf("%w: %w", engine.ErrUnknownOutcome, context.Cause(ctx))
	case <-w.done:
		// Run answers all that it has seen before it closes done.
		select {
		case r := <-c.result:
			return r.outcome, r.err
		default:
			return engine.Outcome{}, ErrStopped
		}
	}
}

// Run commits batches until ctx ends. A batch under way is finished first.
func (w *Writer) Run(ctx context.Context) error {
	defer close(w.done)
	for {
		if len(w.waiting) == 0 {
			select {
			case c := <-w.queue:
				w.waiting = append(w.waiting, c)
			case <-ctx.Done():
				return nil
			}
		}
		if ctx.Err() != nil {
			w.refuse()
			return nil
		}
		w.drain()
		w.commit(ctx, w.gather())
	}
}

// drain moves what is in the queue to waiting, without blocking.
func (w *Writer) drain() {
	for len(w.waiting) < queueLength {
		select {
		case c := <-w.queue:
			w.waiting = append(w.waiting, c)
		default:
			return
		}
	}
}

// gather takes the next batch out of waiting.
func (w *Writer) gather() []*change {
	var batch, later []*change
	taken := map[resourceKey]struct{}{}
	size := 0
	for i, c := range w.waiting {
		if len(batch) == maxOps || (size > 0 && size+len(c.op.Value.Data) > maxBytes) {
			later = append(later, w.waiting[i:]...)
			break
		}
		key := resourceKey{c.op.Resource, c.op.Key}
		if _, ok := taken[key]; ok {
			later = append(later, c)
			continue
		}
		if c.ctx.Err() != nil {
			c.result <- result{err: context.Cause(c.ctx)}
			continue
		}
		taken[key] = struct{}{}
		batch = append(batch, c)
		size += len(c.op.Value.Data)
	}
	w.waiting = later
	return batch
}

// commit commits a batch and answers all its changes. When the database has no fault but refuses what one of them asks
// for, each is tried by itself, so that one bad change doesn't fail its neighbours.
func (w *Writer) commit(ctx context.Context, batch []*change) {
	if len(batch) == 0 {
		return
	}
	committed, err := w.try(ctx, batch)
	if err != nil && len(batch) > 1 && !concernsAll(err) {
		for _, c := range batch {
			w.commit(ctx, []*change{c})
		}
		return
	}
	if err == nil {
		w.feed(events(batch, committed), committed.State)
	}
	for i, c := range batch {
		r := result{err: err}
		if err == nil {
			r.outcome = committed.Outcomes[i]
		}
		c.result <- r
	}
}

// concernsAll reports whether an error is about the database rather than about one of the changes.
func concernsAll(err error) bool {
	for _, class := range []error{
		engine.ErrUnavailable, engine.ErrUnknownOutcome, engine.ErrFull, engine.ErrReadOnly, engine.ErrCorrupt,
		engine.ErrLocked, engine.ErrClosed, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

func (w *Writer) try(ctx context.Context, batch []*change) (engine.Batch, error) {
	ops := make([]engine.Op, len(batch))
	for i, c := range batch {
		ops[i] = c.op
	}
	// A batch that has begun is finished even while the server stops, and no
	// change is given up because another's client went away.
	commitCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	start := w.clock.Now()
	committed, err := w.engine.Commit(commitCtx, ops)
	observeBatch(len(ops), w.clock.Since(start), err)
	w.noteSpace(ctx, err)
	return committed, err
}

// noteSpace says once that the database has no space left, and once that it has some again: who operates it has to
// know, and clients only see that their own writes fail.
func (w *Writer) noteSpace(ctx context.Context, err error) {
	isFull := errors.Is(err, engine.ErrFull)
	switch {
	case isFull && !w.full:
		klog.FromContext(ctx).Error(err, "The database has no space left: writes and deletes fail, reads go on. Enlarge its disk, or max_bytes of SQLite")
		full.Set(1)
	case err == nil && w.full:
		klog.FromContext(ctx).Info("The database has space again")
		full.Set(0)
	case err != nil:
		return // Another failure says nothing about space.
	}
	w.full = isFull
}

// events makes the events of a batch, as the event table would return them.
func events(batch []*change, committed engine.Batch) []engine.Event {
	made := make([]engine.Event, 0, len(batch))
	for i, c := range batch {
		outcome := committed.Outcomes[i]
		if outcome.Revision == 0 {
			continue
		}
		event := engine.Event{
			Revision: outcome.Revision, Kind: c.op.Kind, Resource: c.op.Resource, Key: c.op.Key,
			Created: outcome.Created, PreviousRevision: c.op.Expect, Previous: c.previous, Time: committed.Time,
		}
		if c.op.Kind != engine.Delete {
			event.Value = c.op.Value
		}
		made = append(made, event)
	}
	return made
}

// refuse answers changes that are still waiting when the writer stops.
func (w *Writer) refuse() {
	w.drain()
	for _, c := range w.waiting {
		c.result <- result{err: ErrStopped}
	}
	w.waiting = nil
}
