// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// tick is how often time limits are checked.
const tick = time.Second

// Config is what a [Set] needs. Client, Served and Compiler are required.
type Config struct {
	Client dynamic.Interface
	// Served is run by its owner.
	Served   *served.Watcher
	Compiler policy.Compiler
	// KyvernoKinds has the policies that only Kyverno evaluates ([policy.KyvernoKinds]) included.
	KyvernoKinds bool
	// Failed, if not nil, is called for each list or watch that fails, with its operation.
	Failed func(operation string)
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

func (c *Config) complete() error {
	var errs []error
	for _, field := range []struct {
		name    string
		missing bool
	}{{"Client", c.Client == nil}, {"Served", c.Served == nil}, {"Compiler", c.Compiler == nil}} {
		if field.missing {
			errs = append(errs, fmt.Errorf("policies: config: %s is required", field.name))
		}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return errors.Join(errs...)
}

// Set keeps all policies compiled. Make one with [New] for each call of [Set.Run].
type Set struct {
	config  Config
	current atomic.Pointer[Snapshot]
	// waiting is what the first snapshot waits for; nil once there is one.
	waiting atomic.Pointer[error]
	// sources are the sources of kinds.
	sources atomic.Pointer[[]*source.Source]

	// changed is fired after each new snapshot.
	changed broadcast.Signal[func()]
	// work wakes the planner.
	work *broadcast.Trigger

	// What follows belongs to the planner.
	kinds      []*policyKind
	known      map[policy.Identity]*Item
	exceptions *exceptionSet
	// undecided is true while something waits for a time limit.
	undecided bool
	// expiry is when the next exception expires; zero for never.
	expiry time.Time
	// refusals are the resources whose refusal is logged.
	refusals map[schema.GroupVersionResource]bool
}

// New returns a set that knows nothing until [Set.Run].
func New(config Config) (*Set, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	s := &Set{
		config: config, work: broadcast.NewTrigger(), known: map[policy.Identity]*Item{},
		refusals: map[schema.GroupVersionResource]bool{},
	}
	s.kinds = newKinds(config.KyvernoKinds, s.work.Fire)
	s.sources.Store(&[]*source.Source{})
	s.work.Fire() // Not idle before the planner has run once.
	s.waitFor("the list of kinds that the API serves")
	return s, nil
}

// Current returns the policies; nil until all their kinds have been listed once, or are known not to be
// listable.
func (s *Set) Current() *Snapshot { return s.current.Load() }

// Subscribe calls changed after each change of [Set.Current], from one goroutine, until the returned function
// is called. changed must return quickly.
func (s *Set) Subscribe(changed func()) (unsubscribe func()) { return s.changed.Subscribe(changed) }

// Ready returns nil once there is a snapshot; until then, an error that says what it waits for. Once nil, it
// stays nil.
func (s *Set) Ready() error {
	if missing := s.waiting.Load(); missing != nil {
		return *missing
	}
	return nil
}

// Idle reports whether [Set.Current] has everything that was seen, and its subscribers were called.
func (s *Set) Idle() bool { return s.work.Idle() }

// Sources returns the sources of all kinds that are watched.
func (s *Set) Sources() []*source.Source { return *s.sources.Load() }

// Run keeps the policies up to date until ctx is done. All its goroutines have ended when it
// returns; the last snapshot stays. It must be called once only.
func (s *Set) Run(ctx context.Context) error {
	defer s.config.Served.Subscribe(s.work.Fire)()
	ticker := s.config.Clock.NewTicker(tick)
	defer ticker.Stop()
	defer s.stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if s.undecided || s.expired() {
				s.work.Fire()
			}
		case <-s.work.C():
			s.plan(ctx)
		}
	}
}

// stop stops all sources.
func (s *Set) stop() {
	for _, k := range s.kinds {
		if k.source != nil {
			k.source.Stop()
		}
	}
}

// expired reports whether an exception has expired.
func (s *Set) expired() bool { return !s.expiry.IsZero() && !s.config.Clock.Now().Before(s.expiry) }

// waitFor sets what Ready says is missing, until there is a snapshot.
func (s *Set) waitFor(format string, args ...any) {
	if s.Current() == nil {
		err := fmt.Errorf("the policies wait for "+format, args...)
		s.waiting.Store(&err)
	}
}

// publish makes a snapshot the current one.
func (s *Set) publish(next *Snapshot) {
	s.current.Store(next)
	s.waiting.Store(nil)
	for _, changed := range s.changed.Subscribers() {
		changed()
	}
}

// sourceChanged is called when a kind is listed, and when its requests begin or cease to fail.
func (s *Set) sourceChanged(err error) {
	if source.Missing(err) {
		s.config.Served.Refresh()
	}
	s.work.Fire()
}
