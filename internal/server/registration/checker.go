// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// jitter is the part of the interval by which pauses vary, so that replicas that began
// together don't ask together.
const jitter = 0.2

// Served is a group version of this server, and its resources.
type Served struct {
	schema.GroupVersion

	Resources []string
}

// Unserved is a group version that this server could serve, and does not.
type Unserved struct {
	schema.GroupVersion

	// Why says the reason, of this server.
	Why string
}

// Config of a checker.
type Config struct {
	// Cluster is how the cluster's API server is reached.
	Cluster *rest.Config
	// Served are the group versions to look for, one of each group.
	Served []Served
	// Unserved are group versions that must not be registered.
	Unserved []Unserved
	// Interval between checks.
	Interval time.Duration
	Clock    clock.Clock
}

// Status is what is known about one group version.
type Status struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	// Served reports whether this server serves it.
	Served bool `json:"served"`
	// Known reports whether the cluster has been asked often enough to say anything.
	Known bool `json:"known"`
	// Problems are what is wrong, in a fixed order; none when clients get the reports of
	// this server, or don't ask for what it does not serve.
	Problems []Problem `json:"problems"`
	// Since is when this became known, the zero time if nothing is.
	Since metav1.Time `json:"since"`
}

// Checker checks periodically how the cluster sees our groups.
type Checker struct {
	// looks find what is wrong now, one for each status.
	looks    []func(context.Context) []Problem
	interval time.Duration
	clock    clock.Clock

	// found has what the last check of each group found, nil before the first one. Only
	// Run uses it.
	found [][]Problem

	mu       sync.Mutex
	statuses []Status
}

// New returns a checker that does nothing until Run.
func New(config Config) (*Checker, error) {
	if config.Interval <= 0 {
		return nil, errors.New("the interval between checks of the registration must be more than 0")
	}
	asker, err := newAsker(config.Cluster)
	if err != nil {
		return nil, err
	}
	c := &Checker{
		interval: config.Interval, clock: config.Clock,
		found: make([][]Problem, len(config.Served)+len(config.Unserved)),
	}
	for _, served := range config.Served {
		c.add(served.GroupVersion, true, func(ctx context.Context) []Problem { return asker.look(ctx, served) })
	}
	for _, other := range config.Unserved {
		c.add(other.GroupVersion, false, func(ctx context.Context) []Problem { return asker.lookForUnserved(ctx, other) })
	}
	return c, nil
}

func (c *Checker) add(version schema.GroupVersion, served bool, look func(context.Context) []Problem) {
	c.looks = append(c.looks, look)
	c.statuses = append(c.statuses, Status{Group: version.Group, Version: version.Version, Served: served, Problems: []Problem{}})
}

// Run checks until ctx ends, and returns nil then. The first check comes after one interval:
// the cluster may not yet have noticed a server that has just started. The nil Checker has
// nothing to check.
func (c *Checker) Run(ctx context.Context) error {
	if c == nil {
		return nil
	}
	timer := c.clock.NewTimer(c.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C():
		}
		c.look(ctx)
		timer.Reset(c.pause())
	}
}

func (c *Checker) pause() time.Duration {
	return c.interval + time.Duration(jitter*rand.Float64()*float64(c.interval))
}

// look checks once. What two checks in a row agree on becomes the status, so that the restart
// of a replica or of an API server does not count as a change.
func (c *Checker) look(ctx context.Context) {
	for i, look := range c.looks {
		now := look(ctx)
		if ctx.Err() != nil {
			return // The end of the process says nothing about the cluster.
		}
		before := c.found[i]
		c.found[i] = now
		if before != nil && slices.Equal(reasonsOf(before), reasonsOf(now)) {
			c.record(i, now)
		}
	}
}

func reasonsOf(problems []Problem) []Reason {
	found := make([]Reason, 0, len(problems))
	for _, problem := range problems {
		found = append(found, problem.Reason)
	}
	return found
}

// record makes problems the status of a group, and logs it if that is a change.
func (c *Checker) record(i int, problems []Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := &c.statuses[i]
	news := !status.Known || !slices.Equal(reasonsOf(status.Problems), reasonsOf(problems))
	if news {
		tell(*status, problems)
		status.Known, status.Since = true, metav1.NewTime(c.clock.Now())
	}
	status.Problems = problems
	measure(status.Group, problems)
}

// tell writes one line about each change.
func tell(before Status, problems []Problem) {
	if len(problems) == 0 {
		if len(before.Problems) > 0 {
			klog.InfoS("The cluster's clients get the reports of this server again", "group", before.Group)
		}
		return
	}
	for _, problem := range problems {
		klog.ErrorS(nil, "Not all clients of the cluster get the reports of this server",
			"group", before.Group, "reason", problem.Reason, "message", problem.Message)
	}
}

// Statuses returns what is known about each group version.
func (c *Checker) Statuses() []Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.statuses)
	for i := range all {
		all[i].Problems = slices.Clone(all[i].Problems)
	}
	return all
}
