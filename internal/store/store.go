// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/store/codec"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/hub"
	"github.com/docket-project/docket/internal/store/writer"
)

// Defaults of Options.
const (
	DefaultHistory          = time.Hour
	DefaultHistoryBytes     = int64(1 << 30)
	DefaultRingBytes        = int64(32 << 20)
	DefaultCacheBytes       = int64(32 << 20)
	DefaultBookmarkInterval = 30 * time.Second
)

// Options of a Store. Zero values mean the defaults.
type Options struct {
	// Engine to keep objects in. The store doesn't close it.
	Engine engine.Engine
	// History is how long events are kept for watches and continue tokens, and
	// HistoryBytes how much of them at most.
	History      time.Duration
	HistoryBytes int64
	// RingBytes bounds the events in memory, CacheBytes the decoded objects.
	RingBytes  int64
	CacheBytes int64
	// BookmarkInterval is the longest time that a watch which allows bookmarks
	// goes without one.
	BookmarkInterval time.Duration
	// IndexedFields are the selectable fields that lists find through an index.
	IndexedFields []string
	// GarbageCollector says that a garbage collector watches the objects and
	// finishes foreground and orphaning deletions. Without one such deletions
	// would wait for ever, so the finalizers they need aren't set.
	GarbageCollector bool
	// Clock for everything that waits; the real one when nil.
	Clock clock.WithTicker
}

func (o *Options) setDefaults() {
	setDefault(&o.History, DefaultHistory)
	setDefault(&o.HistoryBytes, DefaultHistoryBytes)
	setDefault(&o.RingBytes, DefaultRingBytes)
	setDefault(&o.CacheBytes, DefaultCacheBytes)
	setDefault(&o.BookmarkInterval, DefaultBookmarkInterval)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Store keeps the objects of one cluster. Safe for concurrent use.
type Store struct {
	options Options
	engine  engine.Engine
	codec   *codec.Codec
	hub     *hub.Hub
	writer  *writer.Writer
	cache   *objectCache
	counts  pageCounts
	index   *indexer

	// resources are those that were made with Resource, without those of ManyVersions.
	resourcesMu sync.Mutex
	resources   []*Resource

	// kick asks the follower to read events now.
	kick chan struct{}
	// followed is when the follower last knew the hub to be up to date, as Unix
	// nanoseconds.
	followed atomic.Int64
	running  atomic.Bool
}

// New returns a store whose watches start at the engine's present state. Run
// must be running for anything to be written.
func New(ctx context.Context, options Options) (*Store, error) {
	options.setDefaults()
	packer, err := codec.New()
	if err != nil {
		return nil, err
	}
	state, err := options.Engine.State(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the state of the database: %w", err)
	}
	s := &Store{
		options: options,
		engine:  options.Engine,
		codec:   packer,
		hub:     hub.New(options.RingBytes, state),
		cache:   newObjectCache(options.CacheBytes),
		index:   newIndexer(options.IndexedFields),
		kick:    make(chan struct{}, 1),
	}
	s.writer = writer.New(options.Engine, s.feed, options.Clock)
	s.followed.Store(options.Clock.Now().UnixNano())
	return s, nil
}

// Run does the store's work until ctx ends, and returns when all of it has
// stopped.
func (s *Store) Run(ctx context.Context) error {
	s.running.Store(true)
	defer s.running.Store(false)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.writer.Run(ctx) })
	group.Go(func() error { return s.follow(ctx) })
	group.Go(func() error { return s.keepHouse(ctx) })
	return group.Wait()
}

// maxLag is how old the follower's view may be before the store calls itself
// not ready: watches would be late, and lists of other replicas ahead of them.
const maxLag = 10 * time.Second

// Ready returns nil when the store can do its work now: the database answers,
// the writer and the follower run, and watches are not behind.
func (s *Store) Ready(ctx context.Context) error {
	if !s.running.Load() {
		return errors.New("the store is not running")
	}
	if _, err := s.engine.State(ctx); err != nil {
		return fmt.Errorf("the database doesn't answer: %w", err)
	}
	if lag := s.lag(); lag > maxLag {
		return fmt.Errorf("watches are %s behind the database", lag.Round(time.Second))
	}
	return nil
}

// lag is how long ago the follower last knew the hub to be up to date.
func (s *Store) lag() time.Duration {
	return s.options.Clock.Since(time.Unix(0, s.followed.Load()))
}

// feed takes the events of this process's commits.
func (s *Store) feed(events []*hub.Entry, state engine.State) {
	if !s.hub.Append(events, state) {
		// Another process committed in between, or the database is of a new
		// incarnation: the follower sorts it out from the event table.
		s.wake()
	}
}

// wake asks the follower to read events now.
func (s *Store) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// followInterval is how often the follower looks for events without having
// been told of any.
const followInterval = time.Second

// follow keeps the hub up to date with commits of other processes.
func (s *Store) follow(ctx context.Context) error {
	ticker := s.options.Clock.NewTicker(followInterval)
	defer ticker.Stop()
	var failing bool
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.engine.Wake():
		case <-s.kick:
		case <-ticker.C():
		}
		err := s.catchUp(ctx)
		if ctx.Err() != nil {
			return nil
		}
		watchLag.Set(s.lag().Seconds())
		if (err != nil) != failing {
			failing = err != nil
			logFollowing(err)
		}
	}
}

// logFollowing tells of the first failure to read events and of the first
// success after it; readiness and a metric show the time between.
func logFollowing(err error) {
	if err != nil {
		klog.ErrorS(err, "Can't read events of the database; trying again every second")
		return
	}
	klog.InfoS("Reading events of the database again")
}

// eventPage is how many events are read from the event table at once.
const eventPage = 500

// catchUp reads events until the hub has all that are committed.
func (s *Store) catchUp(ctx context.Context) error {
	for {
		known := s.hub.State()
		events, state, err := s.engine.Events(ctx, known.Revision, eventPage)
		if errors.Is(err, engine.ErrCompacted) {
			if state, err = s.engine.State(ctx); err != nil {
				return err
			}
			s.reset(state, "its events were dropped before this process read them")
			continue
		}
		if err != nil {
			return err
		}
		if state.Incarnation != known.Incarnation {
			s.reset(state, "the database was restored or failed over")
			continue
		}
		entries := make([]*hub.Entry, len(events))
		for i := range events {
			entries[i] = hub.NewEntry(events[i])
		}
		if !s.hub.Append(entries, state) {
			s.reset(state, "revisions are missing in the event table")
			continue
		}
		if s.hub.State().Revision >= state.Revision {
			s.followed.Store(s.options.Clock.Now().UnixNano())
			return nil
		}
	}
}

// reset moves the hub to a state without the events before it. Watchers that
// had not come that far end with 410 Expired.
func (s *Store) reset(state engine.State, why string) {
	feedResets.Inc()
	klog.InfoS("Watches start anew", "reason", why, "revision", state.Revision, "compacted", state.Compacted)
	s.cache.clear()
	s.hub.Reset(state)
}
