// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy/call"
)

// data answer expressions: a table of resources, or a document.
type data interface {
	Search(ctx context.Context, shape table.Shape, expression string, aliases ...string) (any, error)
	Bytes() int64
	// Trim drops the computed values that were not read lately, Shrink all of them.
	Trim()
	Shrink()
	// Len is the number of objects.
	Len() int
	// Problem is why there are no answers although the data are there.
	Problem() error
}

var errListing = errors.New("the watch was interrupted, and the list that has to follow is not complete")

// phase says whether the data of a dataset are there.
type phase int

const (
	loading phase = iota
	loaded
	// evicted and tooLarge have no data and no worker.
	evicted
	tooLarge
)

// state is what is known of a dataset at one time. It never changes.
type state struct {
	phase phase
	// data are nil unless the phase is loaded.
	data data
	// err is what the last attempt to get data came to; why there are none, if they were evicted.
	err error
	// since is when err began.
	since time.Time
	// decided tells that nobody waits for the first data any more.
	decided bool
	// stale tells that the data are too old to be served.
	stale bool
	// refreshed is when the data were complete last.
	refreshed time.Time
	// changed is closed when there is a next state.
	changed chan struct{}
}

// dataset is data that entries share. Queries read its state; its worker and the planner write it.
type dataset struct {
	// title names it in logs.
	title  string
	origin origin
	cache  *Cache
	state  atomic.Pointer[state]
	// used orders datasets by their last use.
	used atomic.Int64
	// growing is the number of bytes loaded so far.
	growing atomic.Int64
	// listingSince is when a list began that is not complete, in nanoseconds; 0 if there is none.
	listingSince atomic.Int64
	// missed is set when a query needed data that had been evicted.
	missed atomic.Bool

	// mu orders writers of state.
	mu sync.Mutex

	// Only the planner uses what follows.
	worker objects.Worker
	// retryAt is when it may be loaded again after an eviction; pause is the time until then if it has
	// to be evicted again soon.
	retryAt time.Time
	pause   time.Duration
}

// origin is where data come from: a selection of objects unless there is a call. Entries with equal origins share data.
type origin struct {
	selection objects.Selection
	// call belongs to one definition, and is the same as long as that is.
	call     *call.Request
	interval time.Duration
}

func newDataset(c *Cache, title string, from origin) *dataset {
	d := &dataset{title: title, origin: from, cache: c}
	d.state.Store(&state{changed: make(chan struct{}), since: c.config.Clock.Now()})
	d.touch()
	return d
}

// touch makes it the one that was used last.
func (d *dataset) touch() { d.used.Store(d.cache.uses.Add(1)) }

// start has the planner load the data.
func (d *dataset) start(ctx context.Context) {
	d.missed.Store(false)
	d.growing.Store(0)
	d.listingSince.Store(0)
	d.touch()
	d.set(func(s *state) { *s = state{since: d.cache.config.Clock.Now(), refreshed: s.refreshed} })
	if d.origin.call != nil {
		d.worker = d.poll(ctx)
	} else {
		from := d.origin.selection
		d.worker = d.cache.source.Feed(ctx, from, newStore(d.cache.config.Engine, from, d))
	}
}

// drop ends loading and drops the data. Queries fail with why.
func (d *dataset) drop(as phase, why error) {
	d.stop()
	d.set(func(s *state) {
		*s = state{phase: as, err: why, since: d.cache.config.Clock.Now(), refreshed: s.refreshed, decided: true}
	})
}

func (d *dataset) stop() {
	if d.worker != nil {
		d.worker.Stop()
		d.worker = nil
	}
	d.growing.Store(0)
}

// set replaces the state by a changed copy. It wakes everybody who waits for a new state, and notes a
// change if policies get something else from now on.
func (d *dataset) set(change func(*state)) {
	d.mu.Lock()
	before := d.state.Load()
	next := *before
	change(&next)
	next.changed = make(chan struct{})
	d.state.Store(&next)
	d.mu.Unlock()
	close(before.changed)
	if was, is := before.verdict(), next.verdict(); was != is && is != undecided {
		d.cache.changes.note(d, table.Content)
	}
	d.cache.statusChanged()
}

// listing is called when a list begins, for the first time or after one that failed.
func (d *dataset) listing() {
	d.growing.Store(0)
	d.listingSince.CompareAndSwap(0, d.cache.config.Clock.Now().UnixNano())
}

// grow counts what is being loaded, and has the limit enforced after each mebibyte.
func (d *dataset) grow(bytes int64) {
	if size := d.growing.Add(bytes); size/growth != (size-bytes)/growth {
		d.cache.enforceSoon()
	}
}

// attempted stores the outcome of an attempt that brought no data.
func (d *dataset) attempted(err error) { d.attemptedSince(err, d.cache.config.Clock.Now()) }

func (d *dataset) attemptedSince(err error, now time.Time) {
	d.set(func(s *state) {
		if s.phase != loading && s.phase != loaded {
			return // Stopped meanwhile.
		}
		if err != nil && s.err == nil {
			s.since = now
		}
		if s.err = err; err == nil {
			s.stale = false
		}
	})
}

// refresh stores new data.
func (d *dataset) refresh(next data) {
	now := d.cache.config.Clock.Now()
	d.growing.Store(0)
	d.listingSince.Store(0)
	d.set(func(s *state) {
		*s = state{phase: loaded, data: next, refreshed: now, decided: true}
	})
	d.cache.enforceSoon()
}

// bytes estimates its memory: of the data, or of those that are being loaded if they take more.
func (d *dataset) bytes() int64 {
	size := d.growing.Load()
	if s := d.state.Load(); s.data != nil {
		size = max(size, s.data.Bytes())
	}
	return size
}

// verdict is what policies get of a dataset.
type verdict int

const (
	undecided verdict = iota
	answers
	fails
)

func (s *state) verdict() verdict {
	switch {
	case s.phase == loaded && !s.stale:
		return answers
	case s.phase == loading && !s.hopeless():
		return undecided
	default:
		return fails
	}
}

// hopeless reports whether there is no point in waiting for the first data.
func (s *state) hopeless() bool { return s.decided || (s.err != nil && source.Refused(s.err)) }

// failure says why there are no answers.
func (s *state) failure() error {
	switch {
	case s.phase == loaded:
		return fmt.Errorf("the data are too old: no success since %s: %w", s.since.UTC().Format(time.RFC3339), s.err)
	case s.phase == loading && s.err == nil:
		return fmt.Errorf("no answer since %s", s.since.UTC().Format(time.RFC3339))
	case s.phase == loading:
		return fmt.Errorf("can't be loaded: %w", s.err)
	default:
		return s.err
	}
}
