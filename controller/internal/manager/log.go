// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"
)

// logStart logs the version, the cluster and the main options.
func (m *Manager) logStart(ctx context.Context) {
	o := m.options
	interval := o.ScanInterval.String()
	if o.ScanInterval == 0 {
		interval = "never"
	}
	klog.FromContext(ctx).Info("Starting", "version", m.engines.Version, "cluster", m.config.Host,
		"reportsAPI", o.ReportsAPI, "splitPolicyReport", o.Split, "reportInterval", o.ReportInterval.String(), "allowedResults", o.AllowedResults,
		"backgroundScanInterval", interval, "admission", o.Admission, "leaderElect", o.LeaderElect, "metricsBindAddress", o.MetricsBindAddress)
}

// logEnd logs the end of the process and its reason.
func (m *Manager) logEnd(ctx context.Context, started time.Time) {
	why := "something failed"
	if ctx.Err() != nil {
		why = "the process was told to end"
	}
	klog.FromContext(ctx).Info("Stopped", "why", why, "ran", time.Since(started).Round(time.Second).String())
}

// logLeadingEnd logs that this replica has stopped leading, and why.
func logLeadingEnd(ctx context.Context, begun time.Time, err error) {
	values := []any{"led", time.Since(begun).Round(time.Second).String()}
	logger := klog.FromContext(ctx)
	switch {
	case err != nil:
		logger.Error(err, "Stopped leading: something failed", values...)
	case errors.Is(context.Cause(ctx), errEnding):
		logger.Info("Stopped leading: the process ends, and all that was found is written", values...)
	default:
		logger.Error(errLeaseLost, "Stopped leading", values...)
	}
}

// logLeader logs which replica leads while this one stands by.
func (t *term) logLeader(identity string) {
	if identity != "" && identity != t.identity {
		klog.FromContext(t.ctx).Info("Standing by: another replica leads", "leader", identity)
	}
}
