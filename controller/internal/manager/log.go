// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/shard"
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
		"backgroundScanInterval", interval, "admission", o.Admission, "leaderElect", o.LeaderElect, "shards", o.Shards, "metricsBindAddress", o.MetricsBindAddress)
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
func logLeadingEnd(ctx context.Context, shards shard.Set, begun time.Time, err error) {
	values := []any{"led", time.Since(begun).Round(time.Second).String()}
	if shards.Count > 1 {
		values = append(values, "shards", shards.String())
	}
	logger := klog.FromContext(ctx)
	switch {
	case err != nil:
		logger.Error(err, "Stopped leading: something failed", values...)
	case errors.Is(context.Cause(ctx), shard.ErrEnding):
		logger.Info("Stopped leading: the process ends, and all that was found is written", values...)
	case errors.Is(context.Cause(ctx), shard.ErrReassigned):
		logger.Info("Stopped leading: the replica gets other shards, and all that was found is written", values...)
	default:
		logger.Error(shard.ErrLost, "Stopped leading", values...)
	}
}
