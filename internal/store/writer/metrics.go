// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"time"

	"k8s.io/component-base/metrics"

	"github.com/docket-project/docket/internal/kit/metric"
)

var (
	batchOps = metrics.NewHistogram(&metrics.HistogramOpts{
		Name:    "docket_store_batch_operations",
		Help:    "Number of changes that were committed together in one database transaction.",
		Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128},
	})
	batchSeconds = metric.Histograms("docket_store_commit_duration_seconds", "Time that the database took to commit a batch durably, by whether it succeeded.", metrics.ExponentialBuckets(0.0005, 2, 15), "result")
	full         = metric.Gauge("docket_store_full", "1 while the database has no space: writes and deletes fail, reads go on.")
)

// RegisterMetrics registers the package's metrics. Calling it again does no harm.
var RegisterMetrics = metric.Registration(batchOps, batchSeconds, full)

func observeBatch(ops int, took time.Duration, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	batchOps.Observe(float64(ops))
	batchSeconds.WithLabelValues(result).Observe(took.Seconds())
}
