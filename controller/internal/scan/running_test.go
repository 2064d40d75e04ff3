// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/scan"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// running is a scanner at work.
type running struct {
	scanner  *scan.Scanner
	policies *policies.Set
	compiler *compiler
	results  *results
	stop     func()
	// via, if not nil, is how the scanner talks to the control plane.
	via *rest.Config
	// discoveryInterval is how often kinds are looked up.
	discoveryInterval time.Duration
}

// scan starts a scanner that ends with the test.
func (w *world) scan(tb testing.TB, changes ...func(*scan.Config)) *running {
	tb.Helper()
	r := newRunning()
	w.start(tb, r, changes...)
	return r
}

func newRunning() *running {
	return &running{compiler: newCompiler(), results: newResults(), discoveryInterval: 200 * time.Millisecond}
}

// start starts the scanner of r.
func (w *world) start(tb testing.TB, r *running, changes ...func(*scan.Config)) {
	tb.Helper()
	config, end := w.support(tb, r)
	r.lead(tb, config, changes...)
	endLead := r.stop
	r.stop = sync.OnceFunc(func() {
		endLead()
		end()
	})
	tb.Cleanup(r.stop)
}

// support runs what a scanner needs.
func (w *world) support(tb testing.TB, r *running) (config scan.Config, end func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	var parts errgroup.Group
	config = w.scanConfig(tb, r)
	parts.Go(func() error {
		config.Served.Run(ctx)
		return nil
	})
	parts.Go(func() error { return config.Policies.Run(ctx) })
	end = sync.OnceFunc(func() {
		cancel()
		if err := parts.Wait(); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(end)
	return config, end
}

// lead starts a scanner while all else runs.
func (r *running) lead(tb testing.TB, config scan.Config, changes ...func(*scan.Config)) {
	tb.Helper()
	for _, change := range changes {
		change(&config)
	}
	scanner := testkit.Must(scan.New(config))(tb)
	r.scanner = scanner
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- scanner.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("scan: %v", err)
		}
		r.results.mu.Lock()
		defer r.results.mu.Unlock()
		for _, fault := range r.results.faults {
			tb.Error(fault)
		}
	})
	tb.Cleanup(r.stop)
}

func (w *world) scanConfig(tb testing.TB, r *running) scan.Config {
	tb.Helper()
	via := r.via
	if via == nil {
		via = w.config
	}
	client := testkit.Must(dynamic.NewForConfig(via))(tb)
	kinds := testkit.Must(discovery.NewDiscoveryClientForConfig(via))(tb)
	watcher := served.NewWatcher(served.Config{Discovery: kinds, Interval: r.discoveryInterval, Failed: scan.DiscoveryFailed})
	set := testkit.Must(policies.New(policies.Config{Client: client, Served: watcher, Compiler: r.compiler, Failed: scan.RequestFailed}))(tb)
	r.policies = set
	return scan.Config{Client: client, Served: watcher, Policies: set, Results: r.results}
}

// rest waits until the first scan is complete and the scanner is idle.
func (r *running) rest(tb testing.TB) {
	tb.Helper()
	testkit.Settles(tb, func() string {
		if err := r.scanner.Ready(); err != nil {
			return err.Error()
		}
		if !r.scanner.Idle() {
			return "not idle"
		}
		return ""
	})
}

// want waits until the results with a prefix are these.
func (r *running) want(tb testing.TB, prefix string, want ...string) {
	tb.Helper()
	slices.Sort(want)
	testkit.Settles(tb, func() string { return cmp.Diff(want, r.results.lines(prefix)) })
}
