// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/shard"
)

const (
	// DefaultGather is the default of Gather in [Config].
	DefaultGather = 5 * time.Second
	// parallel is the number of concurrent writes.
	parallel = 4
	// ticks is how often the changes of the layout are taken within a gather time.
	ticks = 50
	// shownErrors is the number of reports that an error names.
	shownErrors = 5
)

// Config says what a [Writer] writes, and where.
type Config struct {
	// Layout has the reports that the server is to have. Required. No other writer may use it.
	Layout *Layout
	// Shards have the namespaces whose reports are read and written; the zero value means all. Others belong to other
	// replicas, and are left alone.
	Shards shard.Set
	// REST is the configuration for the server. Required. The writer makes its own clients from it, with
	// at most 100 requests a second if it has no limit.
	REST *rest.Config
	// Gather is how long changes of one report are gathered; DefaultGather if zero. A report that has not
	// changed for a fifth of it is written at once. One that keeps changing is written less and less often,
	// down to twice a minute.
	Gather time.Duration
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Writer keeps the reports of a server like those of a layout. It is safe for concurrent use.
type Writer struct {
	plan     *plan
	sender   *sender
	existing *existing
	journal  *journal
	// compactAt is when the next chunk may be compacted; zero means at once. observeAt is when the metrics of what
	// waits may be set again. Both belong to the goroutine of Run.
	compactAt, observeAt time.Time
}

// NewWriter returns a writer. It sends no request yet.
func NewWriter(config Config) (*Writer, error) {
	if config.Layout == nil || config.REST == nil {
		return nil, errors.New("a report writer needs a layout and a server")
	}
	client, err := newRemote(config.REST)
	if err != nil {
		return nil, err
	}
	clock := cmp.Or[clock.Clock](config.Clock, clock.RealClock{})
	p := newPlan(config.Layout, cmp.Or(config.Gather, DefaultGather), clock)
	j := &journal{plan: p}
	return &Writer{
		plan: p, journal: j, existing: &existing{plan: p, remote: client, shards: config.Shards},
		sender: &sender{plan: p, remote: client, journal: j, tracer: otel.Tracer("docket-controller/report")},
	}, nil
}

// Load reads the reports that the server has and adds their results to the layout. Results keep their times
// and reports, and what does not change is not written. It must be called before Run and Flush. Reports of
// the other layout and the other API are read, too; they are deleted once the layout is pruned and what
// replaces them is written.
func (w *Writer) Load(ctx context.Context) error { return w.existing.load(ctx) }

// Run writes changes of the layout until ctx is done, and restores reports that somebody else changed or
// deleted. What can't be written is retried, with growing pauses. Flush writes the rest at the end.
func (w *Writer) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, namespaced := range []bool{false, true} {
		group.Go(func() { w.existing.watch(ctx, kindOf(w.plan.layout.options.API, namespaced)) })
	}
	w.writeChanges(ctx)
	group.Wait()
	return nil
}

// writeChanges returns when ctx is done and no write is in progress.
func (w *Writer) writeChanges(ctx context.Context) {
	var writes sync.WaitGroup
	defer writes.Wait()
	tick := w.plan.clock.Now()
	for ctx.Err() == nil {
		rs, generation, next, news := w.next(ctx)
		if rs != nil {
			writes.Go(func() { w.sender.write(ctx, rs, generation) })
			continue
		}
		tick = w.wait(ctx, next, tick, news)
	}
}

// next returns the report that is to be written now, or else when to call it again.
func (w *Writer) next(ctx context.Context) (*reportState, uint64, time.Time, <-chan struct{}) {
	p, now := w.plan, w.plan.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	w.compactChunk(now)
	p.take()
	w.journal.warnBeforeDeletingAll(ctx)
	if len(p.dirty) == 0 || !now.Before(w.observeAt) { // It looks at all that waits.
		p.observeQueue(now)
		w.observeAt = now.Add(time.Second)
	}
	tell := w.journal.log(ctx, now)
	if p.busy >= parallel {
		return nil, 0, tell, p.changed
	}
	rs, next := p.pick(now)
	if rs == nil {
		return nil, 0, earliest(earliest(next, w.compactAt), tell), p.changed
	}
	p.start(rs)
	return rs, rs.generation, next, p.changed
}

// compactChunk compacts one chunk of the layout, at most once per gather time.
func (w *Writer) compactChunk(now time.Time) {
	if now.Before(w.compactAt) {
		return
	}
	w.plan.layout.compactChunk()
	w.compactAt = time.Time{}
	if w.plan.layout.sparse() {
		w.compactAt = now.Add(w.plan.gather)
	}
}

// earliest returns the earlier of two times; a zero time doesn't count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// wait waits until the plan may have changed. Changes of the layout, of which a scan makes many, count only
// from tick on. It returns the next tick.
func (w *Writer) wait(ctx context.Context, next, tick time.Time, news <-chan struct{}) time.Time {
	changed := w.plan.layout.changed.C()
	now := w.plan.clock.Now()
	if now.Before(tick) {
		changed, next = nil, earliest(next, tick)
	}
	var due <-chan time.Time
	if !next.IsZero() {
		timer := w.plan.clock.NewTimer(next.Sub(now))
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-changed:
		return w.plan.clock.Now().Add(w.plan.gather / ticks)
	case <-news:
	case <-due:
	}
	return tick
}

// Flush writes every report that is not written yet, once, and returns when that is done. The error names
// those that could not be written. It gives up early if the server does not answer.
func (w *Writer) Flush(ctx context.Context) error {
	tried := map[*reportState]bool{}
	w.plan.layout.compactChunk()
	for {
		batch, news := w.nextBatch(ctx, tried)
		if len(batch) == 0 {
			if news == nil {
				break
			}
			select { // Run is writing something.
			case <-ctx.Done():
				return errors.Join(ctx.Err(), w.plan.failed(tried))
			case <-news:
			}
			continue
		}
		var writes sync.WaitGroup
		for rs, generation := range batch {
			tried[rs] = true
			writes.Go(func() { w.sender.write(ctx, rs, generation) })
		}
		writes.Wait()
		if err := ctx.Err(); err != nil || w.plan.isUnreachable() {
			return errors.Join(err, w.plan.failed(tried))
		}
	}
	return w.plan.failed(tried)
}

// nextBatch returns reports to write. If there are none, the channel is closed when there may be some; it is
// nil if nothing is left.
func (w *Writer) nextBatch(ctx context.Context, tried map[*reportState]bool) (map[*reportState]uint64, <-chan struct{}) {
	w.plan.mu.Lock()
	defer w.plan.mu.Unlock()
	w.plan.take()
	w.journal.warnBeforeDeletingAll(ctx)
	batch := map[*reportState]uint64{}
	for len(batch) < parallel {
		rs := w.plan.pickUntried(tried)
		if rs == nil {
			break
		}
		w.plan.start(rs)
		batch[rs] = rs.generation
	}
	if len(batch) == 0 && w.plan.busy == 0 {
		w.journal.logRest(ctx)
		return nil, nil
	}
	return batch, w.plan.changed
}

// Pending returns the number of reports that are to be written or checked, and the errors of those that
// could not be written.
func (w *Writer) Pending() (int, error) {
	w.plan.mu.Lock()
	defer w.plan.mu.Unlock()
	w.plan.take()
	return w.plan.pending(), w.plan.failures(func(*reportState) bool { return true })
}

// Barrier waits until the server has everything that the layout says now. It does not wait for reports that
// the server refuses, which are retried later. It fails only if ctx is done. It writes nothing itself:
// [Writer.Run] must be running.
func (w *Writer) Barrier(ctx context.Context) error {
	var open map[*reportState]uint64
	for {
		w.plan.mu.Lock()
		if open == nil {
			open = w.plan.unwritten()
		}
		maps.DeleteFunc(open, w.plan.isSettled)
		news := w.plan.changed
		w.plan.mu.Unlock()
		if len(open) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d reports are not written yet: %w", len(open), ctx.Err())
		case <-news:
		}
	}
}
