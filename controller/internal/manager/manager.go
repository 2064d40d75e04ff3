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
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // Metrics of requests, the lease and queues.
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/report"
	"github.com/docket-project/docket/controller/internal/scan"
)

// lastFlush is how long the end of the process may wait for reports to be written.
const lastFlush = 10 * time.Second

// Manager runs the controller.
type Manager struct {
	options *Options
	config  *rest.Config
	// newCompiler is called with the clients of a leader.
	newCompiler func(*rest.Config) (policy.Compiler, error)
}

// New returns a manager for the cluster of config. The engine comes from newCompiler.
func New(options *Options, config *rest.Config, newCompiler func(*rest.Config) (policy.Compiler, error)) *Manager {
	return &Manager{options: options, config: config, newCompiler: newCompiler}
}

// Run returns when ctx is done, the lease is lost, or something fails that a new start may mend.
func (m *Manager) Run(ctx context.Context) error {
	report.RegisterMetrics()
	scan.Register()
	client, err := kubernetes.NewForConfig(m.config)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	var health *health
	if m.options.serves() {
		if health, err = newHealth(ctx, m.options.MetricsBindAddress); err != nil {
			return err
		}
		group.Go(func() error { return health.serve(ctx) })
	}
	group.Go(func() error { return m.work(ctx, client, health) })
	return group.Wait()
}

func (m *Manager) work(ctx context.Context, client kubernetes.Interface, health *health) error {
	// Not bound to ctx: the end of a leader is an Event, too.
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(clientscheme.Scheme, corev1.EventSource{Component: leaseName})
	lead := func(ctx context.Context) error { return m.lead(ctx, recorder, health) }
	if !m.options.LeaderElect {
		leading, stop := context.WithCancelCause(context.WithoutCancel(ctx))
		defer stop(nil)
		defer context.AfterFunc(ctx, func() { stop(errEnding) })()
		return lead(leading)
	}
	namespace, err := leaseNamespace(m.options.LeaderElectNamespace)
	if err != nil {
		return err
	}
	health.setReady(func() error { return nil }) // Standing by is being ready.
	return elect(ctx, client, recorder, namespace, lead)
}

// lead scans and writes reports until ctx is done. If that is because the process ends, and not
// because another replica leads now, what is known is written first.
func (m *Manager) lead(ctx context.Context, recorder record.EventRecorder, health *health) error {
	compiler, err := m.newCompiler(m.config)
	if err != nil {
		return err
	}
	layout := report.NewLayout(report.Options{Split: m.options.Split, API: report.API(m.options.ReportsAPI)})
	writer, err := report.NewWriter(m.writerConfig(layout))
	if err != nil {
		return err
	}
	config, err := m.scanConfig(compiler, layout, recorder)
	if err != nil {
		return err
	}
	scanner, err := scan.New(config)
	if err != nil {
		return err
	}
	health.setReady(scanner.Ready)
	logger := klog.FromContext(ctx)
	logger.Info("Leading: reading the reports that exist")
	if err := writer.Load(ctx); err != nil {
		return errUnlessDone(ctx, err)
	}
	group, working := errgroup.WithContext(ctx)
	group.Go(func() error { return writer.Run(working) })
	group.Go(func() error { return scanner.Run(working) })
	if err := errUnlessDone(ctx, group.Wait()); err != nil {
		return err
	}
	if !errors.Is(context.Cause(ctx), errEnding) {
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	if err := writer.Flush(last); err != nil {
		return fmt.Errorf("reports that changed last are not written, the next start does it: %w", err)
	}
	return nil
}

// errUnlessDone is for errors that come from the end of ctx.
func errUnlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // The error says the same.
	}
	return err
}
