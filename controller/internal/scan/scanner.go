// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// tick is how often metrics are updated, Events are sent, and time limits are checked.
const tick = time.Second

// Scanner evaluates resources. Make one with [New] for each call of [Scanner.Run].
type Scanner struct {
	config   Config
	excluded policy.Exclusion
	queue    *queue
	// budget bounds the memory for resources.
	budget *budget
	// namespaces has what policies see of namespaces.
	namespaces *namespaces
	// ready is what the first scan waits for; nil once it is complete.
	ready atomic.Pointer[error]

	// policiesKnown is true once there was a snapshot of the policies.
	policiesKnown atomic.Bool
	// changes are the entries of the context cache that have changed.
	changes changes
	// waiting are the results of admission requests whose subject does not exist yet.
	waiting waiting

	// tracer makes a span of each resource that is evaluated.
	tracer trace.Tracer

	// planning wakes the planner.
	planning *broadcast.Trigger
	// slowLane counts the goroutines that evaluate slow policies, for which no worker waits.
	slowLane sync.WaitGroup
	// slowSlots bounds how many of them evaluate at a time.
	slowSlots chan struct{}
	// onIdle is true while the planner waits for the queue to become empty.
	onIdle atomic.Bool

	// What follows belongs to the planner.
	policies map[policy.Identity]*policyState
	// adopting has the policies of which results are adopted: the other half of what is in policies.
	adopting map[policy.Identity]*policyState
	// left are the kinds of subjects that had results at the start, until the first snapshot of policies.
	left map[policy.Identity][]schema.GroupVersionKind
	// snapshot is what policies was made from.
	snapshot *policies.Snapshot
	// assigned and namespacesWere are the last arguments of assign.
	assigned       *served.Catalog
	namespacesWere bool
	// dataMissing is true while a kind waits for the data of its resources.
	dataMissing bool
	// undecided is true while something waits for a time limit.
	undecided bool
	// firstScanDone is true once the first scan is complete, except for notListed: what could not be listed.
	firstScanDone bool
	notListed     string
	// began is when Run was called; policyChanges are the changes of policies that are not logged yet.
	began         time.Time
	policyChanges policyChanges
	// refusals are the resources whose refusal is logged.
	refusals map[schema.GroupVersionResource]bool

	mu sync.RWMutex
	// seen are the kinds of subjects of which results are to be adopted, by policy.
	seen map[policy.Identity]map[policy.Target]bool
	// kinds are those that policies match, and earlier ones until their results are removed. Only the
	// planner changes the map.
	kinds map[schema.GroupVersionResource]*kind
}

// New returns a scanner that does nothing until [Scanner.Run].
func New(config Config) (*Scanner, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	s := &Scanner{
		config: config, excluded: policy.NewExclusion(config.Exclude...), tracer: otel.Tracer("docket-controller/scan"),
		planning: broadcast.NewTrigger(), slowSlots: make(chan struct{}, maxSlowEvaluations),
		policies: map[policy.Identity]*policyState{}, adopting: map[policy.Identity]*policyState{}, refusals: map[schema.GroupVersionResource]bool{},
		kinds: map[schema.GroupVersionResource]*kind{}, seen: map[policy.Identity]map[policy.Target]bool{},
	}
	s.queue = newQueue(config.Clock, s.queueIdle)
	s.budget = newBudget(config.Memory)
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
	s.planning.Fire() // Kinds and policies may have been known for long.
	s.loop(ctx)
	s.waiting.close()
	// All sources end with ctx.
	for _, k := range s.allKinds() {
		if k.source != nil {
			k.source.Stop()
		}
	}
	workers.Wait()
	s.slowLane.Wait()
	forgetGauges()
	return nil
}

// loop runs the planner.
func (s *Scanner) loop(ctx context.Context) {
	ticker := s.config.Clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			s.observe()
			s.budget.observe(ctx)
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

// Ready returns nil once everything that can be listed is evaluated; until then, an error that says
// what is missing. Once nil, it stays nil.
func (s *Scanner) Ready() error {
	if missing := s.ready.Load(); missing != nil {
		return *missing
	}
	return nil
}

// Idle reports whether everything that was seen so far is compiled and evaluated. It ignores changed
// entries of the context cache that are not due yet, and results of admission requests that wait for
// their subject.
func (s *Scanner) Idle() bool {
	return s.config.Policies.Idle() && s.planning.Idle() && s.queue.idle() && s.slowLaneIdle()
}

// sourceChanged is called when a kind is listed, and when its requests begin or cease to fail.
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

// namespaceChanged queues the resources in a namespace.
func (s *Scanner) namespaceChanged(name string, how staleness) {
	for _, k := range s.allKinds() {
		if k.resource.Namespaced {
			k.markStale(name, how)
		}
	}
}

// rescan queues everything once in each interval, one bucket after the other: policies may depend
// on more than what is watched.
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
