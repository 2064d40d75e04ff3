// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
)

// planner decides when to look: what is watched and queued after changes of policies and kinds, when policies
// are evaluated again, and when the first scan is complete. Its fields belong to the goroutine of run, except
// where they say otherwise.
type planner struct {
	config    *Config
	inventory *inventory
	evaluator *evaluator
	// planning wakes the planner. Any goroutine may fire it.
	planning *broadcast.Trigger
	// onIdle is true while the planner waits for the queue to become empty. Any goroutine may read it.
	onIdle atomic.Bool
	// changes are the entries of the context cache that have changed. Any goroutine may add some.
	changes changes
	// assigned are the last arguments of [inventory.assign], and its result.
	assigned struct {
		catalog                       *served.Catalog
		namespacesListed, dataMissing bool
	}
	// undecided is true while something waits for a time limit.
	undecided bool
	first     firstScan
	news      policyNews
}

// firstScan says what the first scan waits for.
type firstScan struct {
	// missing is what it waits for; nil once it is complete. Any goroutine may read it.
	missing atomic.Pointer[error]
	// done is true once the scan is complete, except for notListed: what could not be listed.
	done      bool
	notListed string
	began     time.Time
}

func (f *firstScan) err() error {
	if missing := f.missing.Load(); missing != nil {
		return *missing
	}
	return nil
}

func newPlanner(config *Config, inventory *inventory, evaluator *evaluator, planning *broadcast.Trigger) *planner {
	p := &planner{config: config, inventory: inventory, evaluator: evaluator, planning: planning}
	p.inventory.queue.onIdle = p.queueIdle
	p.waitFor("the list of kinds that the API serves")
	return p
}

// run plans until ctx is done.
func (p *planner) run(ctx context.Context) {
	defer p.config.Served.Subscribe(p.planning.Fire)()
	defer p.config.Policies.Subscribe(p.planning.Fire)()
	ticker := p.config.Clock.NewTicker(tick)
	defer ticker.Stop()
	p.first.began = p.config.Clock.Now()
	p.planning.Fire() // Kinds and policies may have been known for long.
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			p.observe(ctx)
			p.evaluator.tend(ctx)
			if !p.undecided && !p.wantsRenewal() {
				continue
			}
		case <-p.planning.C():
		}
		p.plan(ctx)
	}
}

// queueIdle is called when nothing waits for a worker or is with one.
func (p *planner) queueIdle() {
	if p.onIdle.Load() {
		p.planning.Fire()
	}
}

// rescan queues everything once in each interval, one bucket after the other: policies may depend
// on more than what is watched.
func (p *planner) rescan(ctx context.Context) {
	ticker := p.config.Clock.NewTicker(max(p.config.Interval/buckets, time.Millisecond))
	defer ticker.Stop()
	for round := (periodicRound{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			p.rescanBucket(ctx, &round)
		}
	}
}

// periodicRound is how far the periodic scan has come.
type periodicRound struct {
	bucket uint8
	// postponed is how often a bucket of this round was not queued when it was its turn.
	postponed int
}

// rescanBucket queues the next bucket, unless something that is not urgent waits: that may be the same resources,
// and has a reason. So that each bucket has its turn, a round is postponed by an interval at most.
func (p *planner) rescanBucket(ctx context.Context, round *periodicRound) {
	if low, _ := p.inventory.queue.loads(); low.length > 0 && round.postponed < buckets {
		round.postponed++
		return
	}
	for _, k := range p.inventory.all() {
		k.rescan(round.bucket)
	}
	if round.bucket++; round.bucket == buckets {
		*round = periodicRound{}
		p.summarize(ctx, "The periodic scan has queued every resource once", "waiting", p.inventory.queue.length(), "interval", p.config.Interval.String())
	}
}

// plan watches and queues what policies and kinds require, and prunes stored results once everything has
// been evaluated. It is called whenever anything has changed, and is cheap when nothing has.
func (p *planner) plan(ctx context.Context) {
	fired := p.planning.Fired()
	defer p.planning.Handled(fired)
	p.undecided = true
	p.onIdle.Store(true) // Before the queue is checked, so that its becoming idle is not missed.
	catalog := p.config.Served.Current()
	if catalog == nil {
		return // What the API serves is not known yet.
	}
	// In this order: if the set was idle, the snapshot has everything that it had seen.
	complete := p.config.Policies.Idle()
	snapshot := p.config.Policies.Current()
	if snapshot == nil {
		if err := p.config.Policies.Ready(); err != nil {
			p.waitFor("policies: %w", err)
		}
		return
	}
	changed := p.evaluator.applySnapshot(snapshot, &p.news)
	changed = p.renew() || changed
	changed = p.evaluator.renewAdopting() || changed
	p.assign(ctx, catalog, changed)
	p.inventory.reportRefused(ctx, p.evaluator.eventToPoliciesOf)
	if p.inventory.forget() {
		p.assigned.catalog = nil
		p.planning.Fire()
	}
	if !complete {
		p.waitFor("the policies")
		return
	}
	if err := p.incomplete(fired); err != nil {
		p.waitFor("%w", err)
	} else {
		p.pruneUnseen(ctx, catalog, snapshot)
	}
	p.onIdle.Store(!p.first.done || p.first.notListed != "" || p.inventory.clearing())
}

// assign watches what policies match, if that may have changed.
func (p *planner) assign(ctx context.Context, catalog *served.Catalog, changed bool) {
	last, namespaces := &p.assigned, p.inventory.namespacesListed(catalog)
	if changed || last.dataMissing || catalog != last.catalog || namespaces != last.namespacesListed {
		last.catalog, last.namespacesListed = catalog, namespaces
		last.dataMissing = p.inventory.assign(ctx, p.evaluator.wantedKinds(catalog), namespaces)
	}
}

// incomplete returns what the scan of all resources waits for; nil if it is complete. It resets undecided if
// that is no time limit.
func (p *planner) incomplete(fired int64) error {
	for _, k := range p.inventory.all() {
		switch {
		case k.source == nil && !k.unused():
			return errors.New("the list of namespaces")
		case k.source != nil && !k.source.Decided():
			return fmt.Errorf("the list of %s", k.resource.GroupResource())
		}
	}
	p.undecided = false
	if p.planning.Fired() != fired || !p.inventory.queue.idle() || !p.evaluator.slowLanesIdle() {
		return errors.New("the evaluation of all resources") // The planner is woken when the queue is idle.
	}
	return nil
}

// pruneUnseen removes stored results about policies and resources that no longer exist. It does so once
// everything that can be listed is evaluated, and again whenever more could be listed.
func (p *planner) pruneUnseen(ctx context.Context, catalog *served.Catalog, snapshot *policies.Snapshot) {
	rest := p.inventory.unknown(catalog, snapshot)
	summary := rest.String()
	if p.first.done && (p.first.notListed == "" || p.first.notListed == summary) {
		return
	}
	p.logScanDone(ctx, summary)
	p.config.Results.PruneUnseen(p.evaluator.keeper(rest))
	p.first.done, p.first.notListed = true, summary
	p.first.missing.Store(nil)
}

// waitFor sets what Ready says is missing, until the first scan is complete.
func (p *planner) waitFor(format string, args ...any) {
	if !p.first.done {
		err := fmt.Errorf("the first scan waits for "+format, args...)
		p.first.missing.Store(&err)
	}
}

// newsInterval is the shortest time between two log entries about changed policies.
const newsInterval = 10 * time.Second

// policyNews counts changes of policies that are not logged yet.
type policyNews struct {
	added, changed, gone int
	// told is when changes were logged last.
	told time.Time
}

// logScanDone logs that all resources that can be listed are evaluated. rest says what could not be
// listed; it may be empty.
func (p *planner) logScanDone(ctx context.Context, rest string) {
	var values []any
	message := "The first scan is complete"
	switch {
	case p.first.done:
		message = "Scanned kinds that could not be listed before"
	case p.evaluator.count() == 0:
		message += ": there are no policies, so nothing was evaluated"
	}
	if !p.first.done {
		values = append(values, "took", p.config.Clock.Since(p.first.began).Round(time.Millisecond).String())
	}
	if rest != "" {
		values = append(values, "couldNotBeListed", rest)
	}
	p.summarize(ctx, message, values...)
	p.news = policyNews{told: p.config.Clock.Now()}
}

// logNews logs changes of policies since the first scan, at most once per newsInterval.
func (p *planner) logNews(ctx context.Context) {
	now, news := p.config.Clock.Now(), p.news
	if p.first.done && news.added+news.changed+news.gone > 0 && !now.Before(news.told.Add(newsInterval)) {
		p.summarize(ctx, "Policies have changed", "new", news.added, "changed", news.changed, "gone", news.gone)
		p.news = policyNews{told: now}
	}
}

// summarize logs how much is evaluated. Any goroutine may call it.
func (p *planner) summarize(ctx context.Context, message string, values ...any) {
	kinds, resources := p.inventory.size()
	klog.FromContext(ctx).Info(message, append([]any{"policies", p.evaluator.count(), "kinds", kinds, "resources", resources}, values...)...)
}
