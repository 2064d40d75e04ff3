// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/broadcast"
)

const (
	// defaultInterval is how long a kind may exist before it is noticed. A poll costs two
	// requests; watching the definitions of kinds would miss those of other API servers.
	defaultInterval = 15 * time.Second
	// first is how often the catalog is asked for until there is one.
	first = time.Second
)

// Lister is the part of discovery that is needed. It must not cache. Give its client a timeout of
// few seconds: a request that the server doesn't answer outlives [Watcher.Run] by that time.
type Lister interface {
	ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// Config is what a [Watcher] needs. Only Discovery is required.
type Config struct {
	Discovery Lister
	// Interval is how often kinds are looked up; 0 means every 15 s.
	Interval time.Duration
	// Failed, if not nil, is told of each failure.
	Failed func()
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// Watcher keeps a catalog up to date. While the API doesn't answer, it stays as it is: a kind is
// gone only if the API says so.
type Watcher struct {
	config  Config
	current atomic.Pointer[Catalog]
	refresh *broadcast.Trigger
	changed broadcast.Signal[func()]
}

// NewWatcher returns one that does nothing until [Watcher.Run].
func NewWatcher(config Config) *Watcher {
	if config.Interval == 0 {
		config.Interval = defaultInterval
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Watcher{config: config, refresh: broadcast.NewTrigger()}
}

// Current returns the catalog; nil until the API has said once what it serves.
func (w *Watcher) Current() *Catalog { return w.current.Load() }

// Subscribe has changed called after each change of the catalog, by one goroutine, until the
// returned function is called. It must return quickly.
func (w *Watcher) Subscribe(changed func()) (unsubscribe func()) { return w.changed.Subscribe(changed) }

// Refresh has the API asked before its time.
func (w *Watcher) Refresh() { w.refresh.Fire() }

// Run follows what the API serves until ctx is done.
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

// discover returns when ctx is done even if the API doesn't answer: the discovery client takes no
// context. The goroutine that is left then ends with the client's timeout.
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
