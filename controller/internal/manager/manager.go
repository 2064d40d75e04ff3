// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // Metrics of requests, the lease and queues.
	"k8s.io/component-base/tracing"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/admission"
	"github.com/docket-project/docket/controller/internal/admission/handoff"
	"github.com/docket-project/docket/controller/internal/admission/webhook"
	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/shard"
	"github.com/docket-project/docket/controller/internal/manager/telemetry"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/registry"
	"github.com/docket-project/docket/controller/internal/report"
	"github.com/docket-project/docket/controller/internal/scan"
)

// lastFlush bounds how long reports are written when the process ends.
const lastFlush = 10 * time.Second

// Engines are what evaluates policies and expressions. The caller chooses them, so that this package does not
// depend on any engine.
type Engines struct {
	// Version has the versions of the engines and of this program, for the log.
	Version string
	// Expressions returns the engine for expressions over cached data.
	Expressions func(options CompilerOptions) *table.Engine
	// Compiler returns a compiler for policies that may read a cluster and cached data.
	Compiler func(config *rest.Config, cache *contextcache.Cache, options CompilerOptions) (policy.Compiler, error)
}

// CompilerOptions are those of [Engines].
type CompilerOptions struct {
	EvaluationOptions

	Registry RegistryOptions
}

// Manager runs the controller.
type Manager struct {
	options *Options
	config  *rest.Config
	engines Engines
	// telemetry is set by Run.
	telemetry *telemetry.Telemetry
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
	var err error
	if m.telemetry, err = m.startTelemetry(ctx); err != nil {
		return err
	}
	defer m.endTelemetry(ctx)
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

// startTelemetry begins to send traces and metrics, if there is anywhere to send them, and has the requests to the
// cluster traced.
func (m *Manager) startTelemetry(ctx context.Context) (*telemetry.Telemetry, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	t, err := telemetry.Start(ctx, &m.options.Telemetry, leaseName, host)
	if err == nil && m.options.Telemetry.TracingConfigFile != "" {
		m.config.Wrap(tracing.WrapperFor(t.Traces))
	}
	return t, err
}

// endTelemetry sends the rest. A collector that does not answer is no failure of the controller.
func (m *Manager) endTelemetry(ctx context.Context) {
	if err := m.telemetry.Shutdown(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "The last traces or metrics could not be sent")
	}
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
	registry.RegisterMetrics()
	admission.RegisterMetrics()
	handoff.RegisterMetrics()
	webhook.RegisterMetrics()
	shard.RegisterMetrics()
}

func (m *Manager) work(ctx context.Context, replica *replica, health *health) error {
	// Not bound to ctx, since there is an Event when a leader ends, too.
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: replica.kubernetes.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(clientscheme.Scheme, corev1.EventSource{Component: leaseName})
	lead := func(ctx context.Context, shards shard.Set) error {
		begun := time.Now()
		err := m.lead(ctx, shards, replica, recorder, health)
		health.standBy(replica.ready)
		logLeadingEnd(ctx, shards, begun, err)
		return err
	}
	if !m.options.LeaderElect {
		leading, stop := context.WithCancelCause(context.WithoutCancel(ctx))
		defer stop(nil)
		defer context.AfterFunc(ctx, func() { stop(shard.ErrEnding) })()
		return lead(leading, shard.Set{})
	}
	namespace, err := podNamespace("leader-elect-namespace", m.options.LeaderElectNamespace)
	if err != nil {
		return err
	}
	health.standBy(replica.ready)
	return elect(ctx, replica.kubernetes, namespace, m.options.Shards, lead)
}

// lead scans the namespaces of some shards and writes their reports until ctx is done. If no other replica works for
// them yet, it then writes what is not written.
func (m *Manager) lead(ctx context.Context, shards shard.Set, replica *replica, recorder record.EventRecorder, health *health) error {
	layout, err := m.layout()
	if err != nil {
		return err
	}
	writer, err := report.NewWriter(report.Config{Layout: layout, Shards: shards, REST: m.config, Gather: m.options.ReportInterval})
	if err != nil {
		return err
	}
	scanner, err := scan.New(m.scanConfig(replica, layout, shards, recorder))
	if err != nil {
		return err
	}
	reports := &loading{}
	parts := append(m.inboxes(replica, shards, scanner, writer), writer.Run, scanner.Run)
	ready := replica.ready
	group, working := errgroup.WithContext(ctx)
	if shards.First() {
		once, registrar, err := m.leadCluster(replica, recorder)
		if err != nil {
			return err
		}
		parts = append(parts, once...)
		if registrar != nil {
			// Admission needs neither the reports nor the first scan.
			group.Go(func() error { return registrar.Run(working) })
			ready = func() error { return errors.Join(replica.ready(), registrar.Ready()) }
		}
	}
	// A leader is ready before its first scan is complete, which takes minutes in a large cluster.
	health.setReady(ready)
	health.setScanned(func() error { return errors.Join(ready(), reports.ready(), scanner.Ready()) })
	group.Go(func() error {
		klog.FromContext(ctx).Info("Leading: reading the reports that exist", "shards", shards.String())
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
	if reports.ready() != nil {
		return nil //nolint:nilerr // Nothing was scanned: there is nothing to write.
	}
	return flush(ctx, writer)
}

// flush writes what is not written, unless another replica may lead by now.
func flush(ctx context.Context, writer *report.Writer) error {
	if cause := context.Cause(ctx); !errors.Is(cause, shard.ErrEnding) && !errors.Is(cause, shard.ErrReassigned) {
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	if err := writer.Flush(last); err != nil {
		return fmt.Errorf("reports that changed last are not written, the next start does it: %w", err)
	}
	return nil
}

// layout returns a layout without results.
func (m *Manager) layout() (*report.Layout, error) {
	allowed, err := report.ParseOutcomes(m.options.AllowedResults)
	if err != nil {
		return nil, fmt.Errorf("--allowed-results: %w", err)
	}
	return report.NewLayout(report.Options{
		Split: m.options.Split, API: report.API(m.options.ReportsAPI), Allowed: allowed, Series: m.options.MetricsPolicySeries,
		Instance: m.options.Instance,
	}), nil
}

// leadCluster returns what is to be done once in a cluster, whatever the number of shards, and the registrar of the
// webhook; nil if requests are not answered.
func (m *Manager) leadCluster(replica *replica, recorder record.EventRecorder) ([]func(context.Context) error, *webhook.Registrar, error) {
	parts := []func(context.Context) error{
		func(ctx context.Context) error { return replica.cache.MaintainStatus(ctx, recorder) },
		func(ctx context.Context) error { return replica.policies.ReportIgnored(ctx, recorder) },
	}
	if m.options.PolicyStatus {
		parts = append(parts, replica.policies.MaintainStatus)
	}
	if replica.webhook == nil {
		return parts, nil, nil
	}
	registrar, err := m.registrar(replica, recorder)
	return parts, registrar, err
}

// inboxes returns the functions that take results of others: of requests, and of Kyverno if that is configured.
func (m *Manager) inboxes(replica *replica, shards shard.Set, scanner *scan.Scanner, writer *report.Writer) []func(context.Context) error {
	var parts []func(context.Context) error
	for _, inbox := range []struct {
		wanted bool
		config handoff.InboxConfig
		after  func() error
	}{
		{wanted: replica.webhook != nil},
		{wanted: m.options.AdoptKyvernoResults, config: handoff.InboxConfig{Kyverno: true}},
		{wanted: m.options.ReplaceKyvernoReports, config: handoff.InboxConfig{Replace: true}, after: scanner.Ready},
	} {
		if !inbox.wanted {
			continue
		}
		config := inbox.config
		config.Client, config.Shards, config.Sink, config.Flushed = replica.client, shards, scanner.Admit, writer.Barrier
		made := handoff.NewInbox(config)
		run := made.Run
		if inbox.after != nil {
			run = func(ctx context.Context) error { return made.RunAfter(ctx, inbox.after) }
		}
		parts = append(parts, run)
	}
	return parts
}

// errUnlessDone returns err, or nil if ctx is done, which explains the error.
func errUnlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // It is due to the end of ctx.
	}
	return err
}
