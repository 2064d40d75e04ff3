// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/shard"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	minWorkers = 2
	// defaultEventInterval is the interval of [Config.EventsPerPolicy] without a periodic scan.
	defaultEventInterval = time.Hour
	// defaultEntryInterval is the default of [Config.EntryInterval]; lazyEntryInterval is the interval for
	// changes that are not urgent.
	defaultEntryInterval = 5 * time.Second
	lazyEntryInterval    = time.Minute
)

// Results receives the results. Its methods return quickly and are safe for concurrent use.
type Results interface {
	// Present says how the results of a policy are shown. It is called before the first Set of a policy.
	Present(id policy.Identity, presentation policy.Presentation)
	// Set replaces the results of a policy for a subject; none removes them.
	Set(id policy.Identity, subject policy.Reference, results []policy.Result)
	// SetRules replaces the results of some rules of a policy for a subject.
	SetRules(id policy.Identity, subject policy.Reference, results []policy.Result, of func(rule string) bool)
	// Adopt is SetRules for results that others found at a time. Newer results stay.
	Adopt(id policy.Identity, subject policy.Reference, results []policy.Result, of func(rule string) bool, at time.Time)
	// RemovePolicy removes all results of a policy, RemoveRules those of some of its rules.
	RemovePolicy(id policy.Identity)
	RemoveRules(id policy.Identity, of func(rule string) bool)
	// PruneUnseen removes results that an earlier process left and that were not Set since, unless keep
	// returns true.
	PruneUnseen(keep func(id policy.Identity, subject policy.Reference, rule string) bool)
	// Kinds returns the kinds of the subjects that have results, by policy.
	Kinds() map[policy.Identity][]schema.GroupVersionKind
}

// Config is what a [Scanner] needs. Client, Served, Policies and Results are required.
type Config struct {
	Client dynamic.Interface
	// Served and Policies are run by their owner, possibly since long before the scanner.
	Served   *served.Watcher
	Policies *policies.Set
	Results  Results
	// Shards have the namespaces whose resources are evaluated; the zero value means all. Events that are about a
	// policy alone are sent with the first shard.
	Shards shard.Set
	// Adopt has the results of Kyverno's own controllers taken ([policy.Admitted.Adopted]), for the rules and
	// policies that are not evaluated here.
	Adopt bool
	// Admission tells that policies for admission requests only are evaluated here, so that their results come
	// to [Scanner.Admit] without Adopted.
	Admission bool
	// Recorder takes Events on policies; nil for none.
	Recorder record.EventRecorder
	// Workers is the number of resources evaluated at a time; 0 means one per core, at least 2.
	Workers int
	// Patience is how long a worker waits for the evaluation of a policy; 0 means 250 ms. A policy that takes
	// longer is evaluated in a slow lane from then on, for two resources at a time.
	Patience time.Duration
	// EvaluationLimit is how long an evaluation may take; 0 means 30 s. A policy that reaches it three
	// times in a row is not evaluated for a while.
	EvaluationLimit time.Duration
	// Memory bounds the data of resources that are kept, compressed, in bytes; 0 means a quarter of GOMEMLIMIT,
	// if there is one. Resources beyond that are requested again for each evaluation.
	Memory int64
	// Interval is the time in which everything is evaluated once more, spread evenly; 0 means never.
	Interval time.Duration
	// EntryInterval is the shortest time between two evaluations of a policy because of urgent changes in
	// the context cache; 0 means 5 s.
	EntryInterval time.Duration
	// Exclude lists resources that are never scanned, in addition to those of [policy.NewExclusion]. The
	// group "*" stands for any group.
	Exclude []schema.GroupResource
	// EventsPerPolicy is the number of Events per interval about subjects that fail a policy; 0 means none.
	EventsPerPolicy int
	// Clock is the real one if nil.
	Clock clock.WithTickerAndDelayedExecution
}

func (c *Config) complete() error {
	var errs []error
	for name, missing := range map[string]bool{
		"Client": c.Client == nil, "Served": c.Served == nil, "Policies": c.Policies == nil, "Results": c.Results == nil,
	} {
		if missing {
			errs = append(errs, fmt.Errorf("scan: config: %s is required", name))
		}
	}
	for name, negative := range map[string]bool{
		"Workers": c.Workers < 0, "Interval": c.Interval < 0, "EntryInterval": c.EntryInterval < 0,
		"Memory": c.Memory < 0, "Patience": c.Patience < 0, "EvaluationLimit": c.EvaluationLimit < 0, "EventsPerPolicy": c.EventsPerPolicy < 0,
	} {
		if negative {
			errs = append(errs, fmt.Errorf("scan: config: %s is negative; give 0 for the default", name))
		}
	}
	c.Workers = cmp.Or(c.Workers, max(runtime.GOMAXPROCS(0), minWorkers))
	c.EntryInterval = cmp.Or(c.EntryInterval, defaultEntryInterval)
	c.Patience = cmp.Or(c.Patience, defaultPatience)
	c.EvaluationLimit = cmp.Or(c.EvaluationLimit, defaultLimit)
	c.Clock = cmp.Or[clock.WithTickerAndDelayedExecution](c.Clock, clock.RealClock{})
	return errors.Join(errs...)
}

// eventInterval returns the interval of [Config.EventsPerPolicy].
func (c *Config) eventInterval() time.Duration {
	return cmp.Or(c.Interval, defaultEventInterval)
}
