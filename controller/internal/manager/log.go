// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"
)

// sayStart has the log begin with what this is, where it works and how.
func (m *Manager) sayStart(ctx context.Context) {
	o := m.options
	interval := o.ScanInterval.String()
	if o.ScanInterval == 0 {
		interval = "never"
	}
	klog.FromContext(ctx).Info("Starting", "version", m.engines.Version, "cluster", m.config.Host,
		"reportsAPI", o.ReportsAPI, "splitPolicyReport", o.Split, "reportInterval", o.ReportInterval.String(), "allowedResults", o.AllowedResults,
		"backgroundScanInterval", interval, "admission", o.Admission, "leaderElect", o.LeaderElect, "metricsBindAddress", o.MetricsBindAddress)
}

// sayEnd is the last line of the log.
func (m *Manager) sayEnd(ctx context.Context, started time.Time) {
	why := "something failed"
	if ctx.Err() != nil {
		why = "the process was told to end"
	}
	klog.FromContext(ctx).Info("Stopped", "why", why, "ran", time.Since(started).Round(time.Second).String())
}

// sayLed tells that this replica has stopped leading, and why.
func sayLed(ctx context.Context, begun time.Time, err error) {
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

// sayLeader tells who works while this replica stands by.
func (t *term) sayLeader(identity string) {
	if identity != "" && identity != t.identity {
		klog.FromContext(t.ctx).Info("Standing by: another replica leads", "leader", identity)
	}
}
