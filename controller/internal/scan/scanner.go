// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/broadcast"
	"github.com/docket-project/docket/controller/internal/policies"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/served"
	"github.com/docket-project/docket/controller/internal/source"
)

// tick is how often metrics are updated, Events sent, and whatever waits for a time limit looked
// at.
const tick = time.Second

// Scanner evaluates resources. Make one with [New] for each call of [Scanner.Run].
type Scanner struct {
	config   Config
	excluded policy.Exclusion
	queue    *queue
	// namespaces are what workers have to know of them.
	namespaces *namespaces
	// ready has what the first scan waits for; nil once it is over.
	ready atomic.Pointer[error]

	// policiesKnown reports whether the policies are known.
	policiesKnown atomic.Bool
	// changes are entries of the context cache that have changed.
	changes changes
	// waiting are results of admission requests that wait for their subject.
	waiting waiting

	// planning wakes the planner.
	planning *broadcast.Trigger
	// aside has the evaluations by slow policies, which no worker waits for.
	aside sync.WaitGroup
	// asideSlots bounds how many of them there are that wait for none.
	asideSlots chan struct{}
	// onIdle reports whether the planner waits for the queue to become empty.
	onIdle atomic.Bool

	// What follows belongs to the planner.
	policies map[policy.Identity]*policyState
	// snapshot is what the slots were made of.
	snapshot *policies.Snapshot
	// assigned and namespacesWere are what assign was called with last.
	assigned       *served.Catalog
	namespacesWere bool
	// dataMissing tells that a kind waits for the data of its resources.
	dataMissing bool
	// undecided tells that something waits for a time limit.
	undecided bool
	// firstScanDone reports whether the first scan is over; settledBut is what could not be learned.
	firstScanDone bool
	notListed     string
	// began is when Run was called; news are changes of policies that the log has not told of.
	began         time.Time
	policyChanges policyChanges
	// refusals are the resources whose refusal was reported.
	refusals map[schema.GroupVersionResource]bool

	mu sync.RWMutex
	// kinds are those that policies match, and former ones as long as they have results. Only
	// the planner changes it.
	kinds map[schema.GroupVersionResource]*kind
}

// New returns a scanner that does nothing until [Scanner.Run].
func New(config Config) (*Scanner, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	s := &Scanner{
		config: config, excluded: policy.NewExclusion(config.Exclude...),
		planning: broadcast.NewTrigger(), asideSlots: make(chan struct{}, maxAside),
		policies: map[policy.Identity]*policyState{}, refusals: map[schema.GroupVersionResource]bool{},
		kinds: map[schema.GroupVersionResource]*kind{},
	}
	s.queue = newQueue(config.Clock, s.queueIdle)
	s.namespaces = &namespaces{changed: s.namespaceChanged, known: map[string]*packed{}}
	s.waitFor("the list of kinds that the API serves")
	return s, nil
}

// Run scans until ctx is done. All its goroutines have ended when it returns, and nothing calls
// Results any more. It must be called once only.
func (s *Scanner) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.queue.close)()
	var workers sync.WaitGroup
	for range s.config.Workers {
		workers.Go(func() { s.work(ctx) })
	}
	defer s.config.Served.Subscribe(s.planning.Fire)()
	defer s.config.Policies.Subscribe(s.planning.Fire)()
	if s.config.Interval > 0 {
		workers.Go(func() { s.rescan(ctx) })
	}
	s.began = s.config.Clock.Now()
	s.planning.Fire() // All else may have been known for long.
	s.loop(ctx)
	s.waiting.close()
	// All sources end with ctx.
	for _, k := range s.allKinds() {
		if k.source != nil {
			k.source.Stop()
		}
	}
	workers.Wait()
	s.aside.Wait()
	forgetGauges()
	return nil
}

// loop is the planner.
func (s *Scanner) loop(ctx context.Context) {
	ticker := s.config.Clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			s.observe()
			s.sendViolations()
			s.retryAdmitted()
			s.logPolicyChanges(ctx)
			s.tendSlow(ctx)
			if !s.undecided && !s.wantsRenewal() {
				continue
			}
		case <-s.planning.C():
		}
		s.plan(ctx)
	}
}

// queueIdle is called when nothing waits for a worker or is with one.
func (s *Scanner) queueIdle() {
	if s.onIdle.Load() {
		s.planning.Fire()
	}
}

// Ready returns nil once everything that could be listed has been evaluated, and else what is
// still missing. Once nil, it stays so.
func (s *Scanner) Ready() error {
	if missing := s.ready.Load(); missing != nil {
		return *missing
	}
	return nil
}

// Idle reports whether nothing that is known of waits for evaluation, is evaluated, or has to be
// compiled. Changed entries of the context cache whose time has not come don't count, nor do
// results of admission requests that wait for their subject.
func (s *Scanner) Idle() bool {
	return s.config.Policies.Idle() && s.planning.Idle() && s.queue.idle() && s.asideIdle()
}

// sourceChanged is called when a kind is listed, fails or works again.
func (s *Scanner) sourceChanged(err error) {
	if source.Missing(err) {
		s.config.Served.Refresh()
	}
	s.planning.Fire()
}

func (s *Scanner) newSource(resource served.Resource) *source.Source {
	return source.New(source.Config{
		Resource: resource, Client: s.config.Client, Clock: s.config.Clock, Changed: s.sourceChanged,
		Failed: RequestFailed,
	})
}

// namespaceChanged has the subjects in a namespace evaluated again.
func (s *Scanner) namespaceChanged(name string, how staleness) {
	for _, k := range s.allKinds() {
		if k.resource.Namespaced {
			k.markStale(name, how)
		}
	}
}

// rescan has everything evaluated once in each interval, a part at a time, whatever policies see
// of the world beside the resource.
func (s *Scanner) rescan(ctx context.Context) {
	ticker := s.config.Clock.NewTicker(max(s.config.Interval/buckets, time.Millisecond))
	defer ticker.Stop()
	for bucket := uint8(0); ; bucket = (bucket + 1) % buckets {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		for _, k := range s.allKinds() {
			k.rescan(bucket)
		}
		if bucket == buckets-1 {
			s.logRescan(ctx)
		}
	}
}
