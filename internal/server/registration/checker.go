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
	// Served returns the group versions to look for now.
	Served func() []Served
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
	Config

	asker *asker
	// found has what the last check of each group version found. Only Run uses it.
	found map[schema.GroupVersion][]Problem

	mu sync.Mutex
	// known has the statuses of the group versions that were asked for often enough.
	known map[schema.GroupVersion]Status
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
	return &Checker{Config: config, asker: asker, found: map[schema.GroupVersion][]Problem{}, known: map[schema.GroupVersion]Status{}}, nil
}

// Run checks until ctx ends, and returns nil then. The first check comes after one interval:
// the cluster may not yet have noticed a server that has just started. The nil Checker has
// nothing to check.
func (c *Checker) Run(ctx context.Context) error {
	if c == nil {
		return nil
	}
	timer := c.Clock.NewTimer(c.pause())
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
	return c.Interval + time.Duration(jitter*rand.Float64()*float64(c.Interval))
}

// look checks once. What two checks in a row agree on becomes the status, so that the restart
// of a replica or of an API server does not count as a change.
func (c *Checker) look(ctx context.Context) {
	before, now := c.found, map[schema.GroupVersion][]Problem{}
	all := c.Served()
	for _, served := range all {
		now[served.GroupVersion] = c.asker.look(ctx, served, all)
	}
	for _, other := range c.Unserved {
		now[other.GroupVersion] = c.asker.lookForUnserved(ctx, other)
	}
	if ctx.Err() != nil {
		return // The end of the process says nothing about the cluster.
	}
	c.found = now
	c.mu.Lock()
	defer c.mu.Unlock()
	for version, problems := range now {
		if last, ok := before[version]; ok && slices.Equal(reasonsOf(last), reasonsOf(problems)) {
			c.record(version, problems)
		}
	}
	for version := range before {
		if _, ok := now[version]; !ok { // It is no longer served.
			delete(c.known, version)
			c.measure(version.Group)
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

// record makes problems the status of a group version, and logs it if that is a change.
func (c *Checker) record(version schema.GroupVersion, problems []Problem) {
	status := c.known[version]
	status.Group, status.Version = version.Group, version.Version
	if !status.Known || !slices.Equal(reasonsOf(status.Problems), reasonsOf(problems)) {
		tell(status, problems)
		status.Known, status.Since = true, metav1.NewTime(c.Clock.Now())
	}
	status.Problems = problems
	c.known[version] = status
	c.measure(version.Group)
}

// measure shows the problems of all versions of a group.
func (c *Checker) measure(group string) {
	var problems []Problem
	for version, status := range c.known {
		if version.Group == group {
			problems = append(problems, status.Problems...)
		}
	}
	measure(group, problems)
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
func (c *Checker) Statuses() (all []Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add := func(version schema.GroupVersion, served bool) {
		status := c.known[version]
		status.Group, status.Version, status.Served = version.Group, version.Version, served
		status.Problems = append([]Problem{}, status.Problems...)
		all = append(all, status)
	}
	for _, served := range c.Served() {
		add(served.GroupVersion, true)
	}
	for _, other := range c.Unserved {
		add(other.GroupVersion, false)
	}
	return all
}
