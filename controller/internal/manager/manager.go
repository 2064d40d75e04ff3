// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // Metrics of requests, the lease and queues.
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/admission"
	"github.com/docket-project/docket/controller/internal/admission/handoff"
	"github.com/docket-project/docket/controller/internal/contextcache"
	"github.com/docket-project/docket/controller/internal/contextcache/table"
	"github.com/docket-project/docket/controller/internal/policies"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/report"
	"github.com/docket-project/docket/controller/internal/scan"
	"github.com/docket-project/docket/controller/internal/webhook"
)

// lastFlush bounds how long reports are written when the process ends.
const lastFlush = 10 * time.Second

// Engines are what evaluates policies and expressions. The caller chooses them, so that this package does not
// depend on any engine.
type Engines struct {
	// Version has the versions of the engines and of this program, for the log.
	Version string
	// Expressions returns the engine for expressions over cached data.
	Expressions func() *table.Engine
	// Compiler returns a compiler for policies that may read a cluster and cached data. Only exceptions in
	// exceptionNamespaces count.
	Compiler func(config *rest.Config, cache *contextcache.Cache, exceptionNamespaces []string) (policy.Compiler, error)
}

// Manager runs the controller.
type Manager struct {
	options *Options
	config  *rest.Config
	engines Engines
}

// New returns a manager for the cluster of config.
func New(options *Options, config *rest.Config, engines Engines) *Manager {
	return &Manager{options: options, config: config, engines: engines}
}

// Run runs the controller until ctx is done, the lease is lost, or something fails that a restart may fix.
func (m *Manager) Run(ctx context.Context) error {
	registerMetrics()
	m.logStart(ctx)
	defer m.logEnd(ctx, time.Now())
	replica, err := m.newReplica(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	health, err := m.newHealth(ctx, replica)
	if err != nil {
		return err
	}
	if health != nil {
		group.Go(func() error { return health.serve(ctx) })
	}
	// Requests and the leader end first, since they need policies and data until then.
	supporting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group.Go(func() error { return replica.support(supporting) })
	group.Go(func() error {
		defer stop()
		front, ctx := errgroup.WithContext(ctx)
		front.Go(func() error { return replica.serve(ctx) })
		front.Go(func() error { return m.work(ctx, replica, health) })
		return front.Wait()
	})
	return group.Wait()
}

// newHealth returns the server for probes and metrics; nil if there is to be none.
func (m *Manager) newHealth(ctx context.Context, replica *replica) (*health, error) {
	if !m.options.serves() {
		return nil, nil
	}
	if !m.options.AuthorizeMetrics {
		return newHealth(ctx, m.options.MetricsBindAddress, nil)
	}
	guard, err := newGuard(replica.kubernetes)
	if err != nil {
		return nil, err
	}
	return newHealth(ctx, m.options.MetricsBindAddress, guard)
}

func registerMetrics() {
	report.RegisterMetrics()
	scan.Register()
	policies.RegisterMetrics()
	contextcache.RegisterMetrics()
	admission.RegisterMetrics()
	webhook.RegisterMetrics()
}

func (m *Manager) work(ctx context.Context, replica *replica, health *health) error {
	// Not bound to ctx, since there is an Event when a leader ends, too.
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: replica.kubernetes.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(clientscheme.Scheme, corev1.EventSource{Component: leaseName})
	lead := func(ctx context.Context) error {
		begun := time.Now()
		err := m.lead(ctx, replica, recorder, health)
		logLeadingEnd(ctx, begun, err)
		return err
	}
	if !m.options.LeaderElect {
		leading, stop := context.WithCancelCause(context.WithoutCancel(ctx))
		defer stop(nil)
		defer context.AfterFunc(ctx, func() { stop(errEnding) })()
		return lead(leading)
	}
	namespace, err := podNamespace("leader-elect-namespace", m.options.LeaderElectNamespace)
	if err != nil {
		return err
	}
	health.setReady(replica.ready)
	return elect(ctx, replica.kubernetes, recorder, namespace, lead)
}

// lead scans and writes reports until ctx is done. If the process ends, and no other replica leads yet, it then
// writes what is not written.
func (m *Manager) lead(ctx context.Context, replica *replica, recorder record.EventRecorder, health *health) error {
	allowed, err := report.ParseOutcomes(m.options.AllowedResults)
	if err != nil {
		return fmt.Errorf("--allowed-results: %w", err)
	}
	layout := report.NewLayout(report.Options{
		Split: m.options.Split, API: report.API(m.options.ReportsAPI), Allowed: allowed, Series: m.options.MetricsPolicySeries,
	})
	writer, err := report.NewWriter(m.writerConfig(layout))
	if err != nil {
		return err
	}
	scanner, err := scan.New(m.scanConfig(replica, layout, recorder))
	if err != nil {
		return err
	}
	reports := &loading{}
	parts := []func(context.Context) error{writer.Run, scanner.Run, replica.cache.MaintainStatus, func(ctx context.Context) error {
		return replica.policies.ReportIgnored(ctx, recorder)
	}}
	ready := replica.ready
	group, working := errgroup.WithContext(ctx)
	if replica.webhook != nil {
		registrar, inbox, err := m.leadAdmission(replica, scanner, writer, recorder)
		if err != nil {
			return err
		}
		parts = append(parts, inbox.Run)
		// Admission needs neither the reports nor the first scan.
		group.Go(func() error { return registrar.Run(working) })
		ready = func() error { return errors.Join(replica.ready(), registrar.Ready()) }
	}
	// A leader is ready before its first scan is complete, which takes minutes in a large cluster.
	health.setReady(ready)
	health.setScanned(func() error { return errors.Join(ready(), reports.ready(), scanner.Ready()) })
	group.Go(func() error {
		klog.FromContext(ctx).Info("Leading: reading the reports that exist")
		if err := reports.load(working, writer.Load); err != nil {
			return errUnlessDone(working, err)
		}
		defer replica.cache.Subscribe(scanner.EntriesChanged)()
		scanning, working := errgroup.WithContext(working)
		for _, run := range parts {
			scanning.Go(func() error { return run(working) })
		}
		return scanning.Wait()
	})
	if err := errUnlessDone(ctx, group.Wait()); err != nil {
		return err
	}
	if !errors.Is(context.Cause(ctx), errEnding) {
		return nil
	}
	if reports.ready() != nil {
		return nil // Nothing was scanned.
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	if err := writer.Flush(last); err != nil {
		return fmt.Errorf("reports that changed last are not written, the next start does it: %w", err)
	}
	return nil
}

// leadAdmission returns the registrar of the webhook, and the inbox for the results of all replicas.
func (m *Manager) leadAdmission(replica *replica, scanner *scan.Scanner, writer *report.Writer, recorder record.EventRecorder) (*webhook.Registrar, *handoff.Inbox, error) {
	registrar, err := m.registrar(replica, recorder)
	if err != nil {
		return nil, nil, err
	}
	inbox, err := handoff.NewInbox(handoff.InboxConfig{Client: replica.client, Sink: scanner.Admit, Flushed: writer.Barrier})
	return registrar, inbox, err
}

// errUnlessDone returns err, or nil if ctx is done, which explains the error.
func errUnlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // It is due to the end of ctx.
	}
	return err
}
