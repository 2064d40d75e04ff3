// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/api/report"
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
	layout *Layout
	api    API
	remote *remote
	shards shard.Set
	gather time.Duration
	clock  clock.Clock
	// tracer makes a span of each write.
	tracer trace.Tracer

	mu      sync.Mutex
	reports map[reportID]*reportState
	// dirty are the reports that may have to be written; queue has those that nothing holds back.
	dirty map[*reportState]struct{}
	queue dueQueue
	// gates are by namespace.
	gates map[string]*gate
	// observeAt is when the metrics of the queue may be set again.
	observeAt time.Time
	// busy is the number of writes in progress.
	busy   int
	pruned bool
	// pause is when the next request may be sent after outages in a row.
	pause   time.Time
	outages int
	// compactAt is when the next chunk may be compacted; zero means at once.
	compactAt time.Time
	journal   journal
	// planChanged is closed when the plan has changed.
	planChanged chan struct{}
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
	config.Clock = cmp.Or[clock.Clock](config.Clock, clock.RealClock{})
	return &Writer{
		layout: config.Layout, api: config.Layout.options.API, remote: client, shards: config.Shards,
		gather: cmp.Or(config.Gather, DefaultGather), clock: config.Clock, tracer: otel.Tracer("docket-controller/report"),
		reports: map[reportID]*reportState{}, dirty: map[*reportState]struct{}{}, gates: map[string]*gate{}, planChanged: make(chan struct{}),
	}, nil
}

// Load reads the reports that the server has and adds their results to the layout. Results keep their times
// and reports, and what does not change is not written. It must be called before Run and Flush. Reports of
// the other layout and the other API are read, too; they are deleted once the layout is pruned and what
// replaces them is written.
func (w *Writer) Load(ctx context.Context) error {
	ours := selector(w.layout.options.Instance)
	mine := LayoutLabel + "=" + w.layout.options.label()
	others := LayoutLabel + "!=" + w.layout.options.label()
	for _, source := range []struct {
		api      API
		selector string
	}{{w.api, ours + "," + mine}, {w.api, ours + "," + others}, {otherAPI(w.api), ours}} {
		for _, namespaced := range []bool{false, true} {
			k := kindOf(source.api, namespaced)
			err := w.remote.list(ctx, source.api, k, source.selector, func(object report.Accessor) error {
				if !w.shards.Owns(object.GetNamespace()) {
					return nil
				}
				return w.load(source.api, k, object)
			})
			if source.api != w.api && apierrors.IsNotFound(err) {
				continue // The server does not have that API.
			}
			if err != nil {
				return fmt.Errorf("load the %s of %s: %w", k.resource, source.api, err)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drainChanges()
	for _, rs := range w.reports {
		// Reports whose name is right, but which have no result that can be read.
		if rs.exists && !rs.unwanted && w.isObsolete(rs) {
			rs.unwanted, rs.cause = true, notOurs
		}
	}
	observeReports(len(w.reports))
	klog.FromContext(ctx).Info("Read the reports that exist", w.holdings()...)
	return nil
}

func otherAPI(api API) API {
	if api == OpenReports {
		return WGPolicy
	}
	return OpenReports
}

func (w *Writer) load(api API, k kind, object report.Accessor) error {
	sum, err := hashOf(k, object)
	if err != nil {
		return err
	}
	current := w.layout.load(object, api)
	w.mu.Lock()
	defer w.mu.Unlock()
	rs := w.stateOf(reportID{api: api, reportKey: keyOf(object)})
	rs.unwanted, rs.cause = !current, otherLayout
	rs.has(object, sum)
	return nil
}

func keyOf(object report.Accessor) reportKey {
	return reportKey{namespace: object.GetNamespace(), name: object.GetName()}
}

// has records what the server has.
func (rs *reportState) has(object report.Accessor, sum hash) {
	rs.exists, rs.hash = true, sum
	rs.identity = identityOf(object)
}

// Run writes changes of the layout until ctx is done, and restores reports that somebody else changed or
// deleted. What can't be written is retried, with growing pauses. Flush writes the rest at the end.
func (w *Writer) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, namespaced := range []bool{false, true} {
		group.Go(func() { w.watch(ctx, kindOf(w.api, namespaced)) })
	}
	w.writeChanges(ctx)
	group.Wait()
	return nil
}

// writeChanges returns when ctx is done and no write is in progress.
func (w *Writer) writeChanges(ctx context.Context) {
	var writes sync.WaitGroup
	defer writes.Wait()
	tick := w.clock.Now()
	for ctx.Err() == nil {
		rs, generation, next, news := w.plan(ctx)
		if rs != nil {
			writes.Go(func() { w.write(ctx, rs, generation) })
			continue
		}
		tick = w.wait(ctx, next, tick, news)
	}
}

// plan returns the report that is to be written now, or else when to call it again.
func (w *Writer) plan(ctx context.Context) (*reportState, uint64, time.Time, <-chan struct{}) {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.compactChunk(now)
	w.drainChanges()
	w.warnBeforeDeletingAll(ctx)
	w.observeQueue(now)
	tell := w.logWrites(ctx, now)
	if w.busy >= parallel {
		return nil, 0, tell, w.planChanged
	}
	rs, next := w.pick(now)
	if rs == nil {
		return nil, 0, earliest(earliest(next, w.compactAt), tell), w.planChanged
	}
	w.start(rs)
	return rs, rs.generation, next, w.planChanged
}

// compactChunk compacts one chunk of the layout, at most once per gather time.
func (w *Writer) compactChunk(now time.Time) {
	if now.Before(w.compactAt) {
		return
	}
	w.layout.compactChunk()
	w.compactAt = time.Time{}
	if w.layout.sparse() {
		w.compactAt = now.Add(w.gather)
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
	changed := w.layout.changed.C()
	now := w.clock.Now()
	if now.Before(tick) {
		changed, next = nil, earliest(next, tick)
	}
	var due <-chan time.Time
	if !next.IsZero() {
		timer := w.clock.NewTimer(next.Sub(now))
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-changed:
		return w.clock.Now().Add(w.gather / ticks)
	case <-news:
	case <-due:
	}
	return tick
}

// Flush writes every report that is not written yet, once, and returns when that is done. The error names
// those that could not be written. It gives up early if the server does not answer.
func (w *Writer) Flush(ctx context.Context) error {
	tried := map[*reportState]bool{}
	w.layout.compactChunk()
	for {
		batch, news := w.nextBatch(ctx, tried)
		if len(batch) == 0 {
			if news == nil {
				break
			}
			select { // Run is writing something.
			case <-ctx.Done():
				return errors.Join(ctx.Err(), w.failed(tried))
			case <-news:
			}
			continue
		}
		var writes sync.WaitGroup
		for rs, generation := range batch {
			tried[rs] = true
			writes.Go(func() { w.write(ctx, rs, generation) })
		}
		writes.Wait()
		if err := ctx.Err(); err != nil || w.isUnreachable() {
			return errors.Join(err, w.failed(tried))
		}
	}
	return w.failed(tried)
}

// nextBatch returns reports to write. If there are none, the channel is closed when there may be some; it is
// nil if nothing is left.
func (w *Writer) nextBatch(ctx context.Context, tried map[*reportState]bool) (map[*reportState]uint64, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drainChanges()
	w.warnBeforeDeletingAll(ctx)
	batch := map[*reportState]uint64{}
	for len(batch) < parallel {
		rs := w.pickUntried(tried)
		if rs == nil {
			break
		}
		w.start(rs)
		batch[rs] = rs.generation
	}
	if len(batch) == 0 && w.busy == 0 {
		w.logRest(ctx)
		return nil, nil
	}
	return batch, w.planChanged
}

// isUnreachable reports whether the server has not answered any write of a batch.
func (w *Writer) isUnreachable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outages >= parallel
}

// failed returns the errors of the reports that were tried and could not be written.
func (w *Writer) failed(tried map[*reportState]bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failures(func(rs *reportState) bool { return tried[rs] })
}

// Pending returns the number of reports that are to be written or checked, and the errors of those that
// could not be written.
func (w *Writer) Pending() (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drainChanges()
	return len(w.dirty) + w.busy, w.failures(func(*reportState) bool { return true })
}

// failures returns the errors of reports that could not be written. It is called with w.mu.
func (w *Writer) failures(of func(*reportState) bool) error {
	var failures []*reportState
	for rs := range w.dirty {
		if rs.err != nil && of(rs) {
			failures = append(failures, rs)
		}
	}
	slices.SortFunc(failures, func(a, b *reportState) int { return cmp.Compare(a.key.String(), b.key.String()) })
	var errs []error
	for i, rs := range failures {
		if i == shownErrors {
			errs = append(errs, fmt.Errorf("and %d more reports", len(failures)-i))
			break
		}
		errs = append(errs, fmt.Errorf("report %s: %w", rs.key.reportKey, rs.err))
	}
	return errors.Join(errs...)
}
