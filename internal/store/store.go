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
	"weak"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/store/codec"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/hub"
	"github.com/docket-project/docket/internal/store/writer"
)

// Defaults of Options.
const (
	DefaultHistory          = time.Hour
	DefaultHistoryBytes     = HistoryBytes(1 << 30)
	DefaultRingBytes        = RingBytes(64 << 20)
	DefaultCacheBytes       = CacheBytes(32 << 20)
	DefaultBookmarkInterval = 30 * time.Second
)

// Bounds in bytes. Each has a type, so that none can be passed for another.
type (
	// HistoryBytes bounds the events in the database.
	HistoryBytes int64
	// RingBytes bounds the events in memory, as they are stored and decoded.
	RingBytes int64
	// CacheBytes bounds the decoded objects in memory.
	CacheBytes int64
)

// Options of a Store. Zero values mean the defaults.
type Options struct {
	// Engine to keep objects in. The store doesn't close it.
	Engine engine.Engine
	// Database is what the log calls it: its URL without a password.
	Database string
	// History is how long events are kept for watches and continue tokens, and HistoryBytes how much of them at most.
	History      time.Duration
	HistoryBytes HistoryBytes
	RingBytes    RingBytes
	CacheBytes   CacheBytes
	// BookmarkInterval is the longest time that a watch which allows bookmarks goes without one.
	BookmarkInterval time.Duration
	// IndexedFields are the selectable fields that lists find through an index.
	IndexedFields []string
	// Derivation is the version of what is derived from objects, IndexedFields included; that of this program when
	// it is zero. Tests have others.
	Derivation engine.Derivation
	// GarbageCollector says that a garbage collector watches the objects and finishes foreground and orphaning
	// deletions. Without one such deletions would wait forever, so the finalizers they need aren't set.
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
	setDefault(&o.Derivation, derivation)
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
	hub     *hub.Hub[change]
	history *history
	writer  *writer.Writer
	cache   *objectCache
	counts  pageCounts
	readers readers
	// needed is the lowest revision that another replica reads at; 0 for none.
	needed atomic.Int64
	index  *indexer
	// troubles are those of housekeeping.
	troubles troubles

	// resources are those that were made with Resource, without those of ManyVersions, of which the last one of each
	// key space is in passing while somebody uses it. added tells of a new one.
	resourcesMu sync.Mutex
	resources   []*Resource
	passing     map[engine.Resource]weak.Pointer[Resource]
	added       chan struct{}

	// kick asks the follower to read events now.
	kick chan struct{}
	// followed is when the follower last knew the hub to be up to date, as Unix nanoseconds.
	followed atomic.Int64
	running  atomic.Bool
	// outdated says that the database has a format that this program can't read.
	outdated atomic.Bool
	// leapt reports whether the revisions were moved above one that a client presented.
	leapt atomic.Bool
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
		hub:     hub.New[change](int64(options.RingBytes)/2, state), // And half as much decoded.
		cache:   newObjectCache(options.CacheBytes),
		index:   newIndexer(options.IndexedFields),
		kick:    make(chan struct{}, 1),
		passing: map[engine.Resource]weak.Pointer[Resource]{},
		added:   make(chan struct{}, 1),
	}
	s.history = newHistory(options.Engine, s.hub, int64(options.RingBytes)/4)
	s.writer = writer.New(options.Engine, s.feed, options.Clock)
	s.followed.Store(options.Clock.Now().UnixNano())
	observePolling(options.Engine)
	return s, nil
}

// Run does the store's work until ctx ends, and returns when all of it has stopped.
func (s *Store) Run(ctx context.Context) error {
	defer s.running.Store(false)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.writer.Run(ctx) })
	group.Go(func() error { return s.follow(ctx) })
	group.Go(func() error { return s.keepHouse(ctx) })
	group.Go(func() error { return s.keepDerived(ctx) })
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
	if s.outdated.Load() {
		return errOutdated
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
