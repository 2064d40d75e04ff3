// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
)

const (
	// defaultInterval is how long it may take to notice a kind. Each discovery takes two requests; watching
	// CustomResourceDefinitions instead would miss the kinds of other API servers.
	defaultInterval = 15 * time.Second
	// first is the interval until there is a catalog.
	first = time.Second
)

// Lister is the part of a discovery client that is needed. It must not cache. Its client should have a timeout
// of a few seconds: a request that the server doesn't answer may outlive [Watcher.Run] by that time.
type Lister interface {
	ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// Config is what a [Watcher] needs. Only Discovery is required.
type Config struct {
	Discovery Lister
	// Interval is the time between two discoveries; 0 means 15 s.
	Interval time.Duration
	// Failed, if not nil, is called for each failure.
	Failed func()
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// Watcher keeps a catalog up to date. The catalog does not change while the API doesn't answer: a kind is gone
// only if the API says so.
type Watcher struct {
	config  Config
	current atomic.Pointer[Catalog]
	refresh *broadcast.Trigger
	changed broadcast.Signal[func()]
}

// NewWatcher returns a watcher that does nothing until [Watcher.Run].
func NewWatcher(config Config) *Watcher {
	config.Interval = cmp.Or(config.Interval, defaultInterval)
	config.Clock = cmp.Or[clock.WithTicker](config.Clock, clock.RealClock{})
	return &Watcher{config: config, refresh: broadcast.NewTrigger()}
}

// Current returns the catalog; nil until the first successful discovery.
func (w *Watcher) Current() *Catalog { return w.current.Load() }

// Subscribe calls changed after each change of the catalog, from one goroutine, until the returned function is
// called. changed must return quickly.
func (w *Watcher) Subscribe(changed func()) (unsubscribe func()) { return w.changed.Subscribe(changed) }

// Refresh starts a discovery without waiting for the interval.
func (w *Watcher) Refresh() { w.refresh.Fire() }

// Run keeps the catalog up to date until ctx is done.
func (w *Watcher) Run(ctx context.Context) {
	timer := w.config.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.refresh.C():
			timer.Stop()
		case <-timer.C():
		}
		w.once(ctx)
		pause := w.config.Interval
		if w.Current() == nil {
			pause = min(pause, first)
		}
		timer.Reset(pause)
	}
}

func (w *Watcher) once(ctx context.Context) {
	before := w.Current()
	next, err := w.discover(ctx, before)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.failed()
		klog.FromContext(ctx).Error(err, "API discovery failed; keeping the last known kinds")
		return
	}
	if next.equal(before) {
		return
	}
	for version, cause := range next.failed {
		if before == nil || before.failed[version] == nil {
			w.failed()
			klog.FromContext(ctx).Error(cause, "API discovery failed for a part of the API; keeping its last known kinds", "groupVersion", version)
		}
	}
	w.current.Store(next)
	for _, changed := range w.changed.Subscribers() {
		changed()
	}
}

func (w *Watcher) failed() {
	if w.config.Failed != nil {
		w.config.Failed()
	}
}

// discover returns when ctx is done even if the API doesn't answer. The discovery client takes no context, so
// its goroutine may remain until the client's timeout.
func (w *Watcher) discover(ctx context.Context, before *Catalog) (*Catalog, error) {
	type answer struct {
		catalog *Catalog
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		next, err := Discover(w.config.Discovery, before)
		answers <- answer{next, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-answers:
		return a.catalog, a.err
	}
}
