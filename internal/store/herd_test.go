// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/storetest"
)

// Sizes of a herd: watchers that come at once, and want what memory no longer has.
const (
	herdWatchers = 2000
	herdEvents   = 8000
	// herdRing holds some 6,000 of the events.
	herdRing = 8 << 20
	// herdSpread: they have seen all up to some one of the first so many events, and read up to herdReads.
	herdSpread, herdReads = 1000, 1500
)

// counted counts what is read of the event table.
type counted struct {
	engine.Engine
	calls, events atomic.Int64
}

func (c *counted) Events(ctx context.Context, after engine.Revision, limit int) ([]engine.Event, engine.State, error) {
	events, state, err := c.Engine.Events(ctx, after, limit)
	c.calls.Add(1)
	c.events.Add(int64(len(events)))
	return events, state, err
}

// TestHerd: watchers that are behind the ring share what they read of the event table, and don't keep others
// from the database. Guarantee S6.
func TestHerd(t *testing.T) {
	for name, open := range map[string]storetest.Open{"sqlite": openSQLite, "postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			e := &counted{Engine: open(t)}
			r := newReportsWith(t, store.Options{Engine: e, RingBytes: herdRing})
			first := r.present(t)
			r.fill(t, herdEvents)
			before, start := e.calls.Load(), time.Now()
			stop := r.probe(t)
			r.resume(t, first, herdWatchers)
			caughtUp := time.Since(start)
			slowest, median := stop()
			reads := e.calls.Load() - before
			t.Logf("%d watchers behind caught up in %s by %d reads of the event table; State took up to %s for 99 %%, %s for 50 %%",
				herdWatchers, caughtUp.Round(time.Millisecond), reads, slowest, median)
			// 3 pages; some are read again for those who come late.
			if reads > 100 {
				t.Errorf("read the event table %d times", reads)
			}
			if slowest > caughtUp/2 { // A busy machine makes both longer.
				t.Errorf("State took up to %s of the %s in which they caught up", slowest, caughtUp)
			}
		})
	}
}

// TestHerdAfterRestart: a store that starts has the newest events in memory, so that nobody who comes back needs the
// table. Guarantee S3.
func TestHerdAfterRestart(t *testing.T) {
	for name, open := range map[string]storetest.Open{"sqlite": openSQLite, "postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			opened := open(t)
			var first engine.Revision
			t.Run("before", func(t *testing.T) {
				r := newReportsOn(t, opened)
				first = r.present(t)
				r.fill(t, herdEvents)
			})
			e := &counted{Engine: opened}
			r := newReportsOn(t, e)
			r.awaitReady(t)
			before, start := e.calls.Load(), time.Now()
			stop := r.probe(t)
			r.resume(t, first, herdWatchers)
			slowest, _ := stop()
			t.Logf("%d watchers caught up in %s after a restart; State took up to %s for 99 %%", herdWatchers, time.Since(start).Round(time.Millisecond), slowest)
			// The follower looks once a second.
			if reads := e.calls.Load() - before; reads > 60 {
				t.Errorf("read the event table %d times after the restart", reads)
			}
		})
	}
}

func (r *reports) awaitReady(t testing.TB) {
	t.Helper()
	testkit.Succeeds(t, "the store is ready", func() error { return r.store.Ready(t.Context()) })
}

// fill creates reports of a few results.
func (r *reports) fill(t testing.TB, count int) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(128)
	for i := range count {
		group.Go(func() error {
			name := "filled-" + strconv.Itoa(i)
			in := emptyReport()
			if err := in.UnmarshalJSON(filled(name)); err != nil {
				return err
			}
			return r.Create(context.WithoutCancel(t.Context()), key(name), in, emptyReport(), 0)
		})
	}
	testkit.NoError(t, group.Wait())
}

// filled is a report of 1 kB.
func filled(name string) []byte {
	var results []string
	for i := range 3 {
		results = append(results, fmt.Sprintf(`{"policy":"require-something-%d","rule":"autogen-check","result":"pass","source":"kyverno",
"scored":true,"severity":"medium","category":"Pod Security Standards","message":"validation rule '%d' of %s passed."}`, i, i, name))
	}
	return fmt.Appendf(nil, `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"namespace":"ns","name":%q},"results":[%s]}`,
		name, strings.Join(results, ","))
}

// resume starts watchers after the first revision, and waits until each has seen what is to be read.
func (r *reports) resume(t testing.TB, first engine.Revision, watchers int) {
	t.Helper()
	last := first + herdReads
	var done sync.WaitGroup
	for i := range watchers {
		after := first + engine.Revision(i%herdSpread)
		done.Go(func() {
			w, err := r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports", storage.ListOptions{
				Recursive: true, Predicate: everything, ResourceVersion: strconv.FormatInt(int64(after), 10),
			})
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Stop()
			expectRevisions(t, w, after, last)
		})
	}
	done.Wait()
}

// expectRevisions expects the events after a revision up to another.
func expectRevisions(t testing.TB, w watch.Interface, after, last engine.Revision) {
	t.Helper()
	for after < last {
		event, ok := <-w.ResultChan()
		if !ok || event.Type == watch.Error {
			t.Errorf("the watch ended after %d: %v", after, event.Object)
			return
		}
		got := event.Object.(interface{ GetResourceVersion() string }).GetResourceVersion()
		if after++; got != strconv.FormatInt(int64(after), 10) {
			t.Errorf("got revision %s, want %d", got, after)
			return
		}
	}
}

// probe asks for the state again and again, until the function that it returns is called for the slowest of 99 % and
// the median.
func (r *reports) probe(t testing.TB) func() (slowest, median time.Duration) {
	t.Helper()
	stop := make(chan struct{})
	var took []time.Duration
	var running sync.WaitGroup
	running.Go(func() {
		for {
			start := time.Now()
			r.present(t)
			took = append(took, time.Since(start))
			select {
			case <-time.After(5 * time.Millisecond):
			case <-stop:
				return
			}
		}
	})
	return func() (time.Duration, time.Duration) {
		close(stop)
		running.Wait()
		slices.Sort(took)
		return took[len(took)*99/100], took[len(took)/2]
	}
}
