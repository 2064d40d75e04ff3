// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"sync"
	"time"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
)

// tick is how often metrics are updated, Events are sent, and time limits are checked.
const tick = time.Second

// Scanner evaluates resources. Make one with [New] for each call of [Scanner.Run].
type Scanner struct {
	config    *Config
	inventory *inventory
	planner   *planner
	evaluator *evaluator
}

// New returns a scanner that does nothing until [Scanner.Run].
func New(config Config) (*Scanner, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	planning := broadcast.NewTrigger()
	s := &Scanner{config: &config, inventory: newInventory(&config, planning)}
	s.evaluator = newEvaluator(&config, s.inventory, planning)
	s.planner = newPlanner(&config, s.inventory, s.evaluator, planning)
	return s, nil
}

// Run scans until ctx is done. All its goroutines have ended when it returns, and nothing calls
// Results any more. It must be called once only.
func (s *Scanner) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.inventory.queue.close)()
	var group sync.WaitGroup
	for range s.config.Workers {
		group.Go(func() { s.evaluator.work(ctx, nil) })
	}
	if s.config.Interval > 0 {
		group.Go(func() { s.planner.rescan(ctx) })
	}
	s.planner.run(ctx)
	s.evaluator.waiting.close()
	for _, watched := range s.inventory.sources() { // All end with ctx.
		watched.Stop()
	}
	group.Wait()
	s.evaluator.slow.Wait()
	forgetGauges()
	return nil
}

// Ready returns nil once everything that can be listed is evaluated; until then, an error that says
// what is missing. Once nil, it stays nil.
func (s *Scanner) Ready() error { return s.planner.first.err() }

// Idle reports whether everything that was seen so far is compiled and evaluated. It ignores changed
// entries of the context cache that are not due yet, and results of admission requests that wait for
// their subject.
func (s *Scanner) Idle() bool {
	return s.config.Policies.Idle() && s.planner.planning.Idle() && s.inventory.queue.idle() && s.evaluator.slowLanesIdle()
}

// EntriesChanged causes the policies that read one of these entries to be evaluated again for all their
// resources. Results stay until there are new ones; those of admission requests don't change. The evaluation
// begins at once, unless the first scan or the evaluation of the policy for an earlier change is not complete,
// or that one began less than [Config.EntryInterval] ago, a minute if the change is not urgent: then it begins
// after that. EntriesChanged itself returns at once.
func (s *Scanner) EntriesChanged(entries []policy.Entry, urgent bool) {
	s.planner.entriesChanged(entries, urgent)
}

// Admit takes results of policies for admission requests. They are applied if the policy is for admission
// only, as soon as an object with the same UID and content exists or has existed recently; of several
// requests, the latest one counts. Results of other policies are ignored, as are those of policies that
// have changed since, and of objects that no longer exist. A request for a deletion removes nothing before
// the object is gone, since it may still be refused. Results whose object does not come into existence, or
// is not deleted, within two minutes are dropped, as are the oldest ones when too many wait.
//
// When none of items waits any more, decided is called, by any goroutine; it must return quickly. It is not
// called if the scanner ends first. Admit returns quickly.
func (s *Scanner) Admit(items []policy.Admitted, decided func()) { s.evaluator.admit(items, decided) }
