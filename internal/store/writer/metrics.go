// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	batchOps = metrics.NewHistogram(&metrics.HistogramOpts{
		Name:    "docket_store_batch_operations",
		Help:    "Number of changes that were committed together in one database transaction.",
		Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128},
	})
	batchSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name:    "docket_store_commit_duration_seconds",
		Help:    "Time that the database took to commit a batch durably, by whether it succeeded.",
		Buckets: metrics.ExponentialBuckets(0.0005, 2, 15),
	}, []string{"result"})
	full = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "docket_store_full",
		Help: "1 while the database has no space: writes and deletes fail, reads go on.",
	})
)

// RegisterMetrics registers the package's metrics. Calling it again does no harm.
func RegisterMetrics() {
	legacyregistry.MustRegister(batchOps, batchSeconds, full)
}

func observeBatch(ops int, took time.Duration, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	batchOps.Observe(float64(ops))
	batchSeconds.WithLabelValues(result).Observe(took.Seconds())
}
