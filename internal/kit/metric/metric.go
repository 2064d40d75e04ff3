// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metric makes metrics and registers them, once a process. All are alpha: a release may change them.
package metric

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Registration returns a function that adds metrics to the registry of the process. Further calls do nothing.
func Registration(all ...metrics.Registerable) func() {
	return sync.OnceFunc(func() { legacyregistry.MustRegister(all...) })
}

// Counter returns a counter.
func Counter(name, help string) *metrics.Counter {
	return metrics.NewCounter(&metrics.CounterOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA})
}

// Counters returns a counter for each combination of labels.
func Counters(name, help string, labels ...string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
}

// Gauge returns a gauge.
func Gauge(name, help string) *metrics.Gauge {
	return metrics.NewGauge(&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA})
}

// Gauges returns a gauge for each combination of labels.
func Gauges(name, help string, labels ...string) *metrics.GaugeVec {
	return metrics.NewGaugeVec(&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, labels)
}

// Histograms returns a histogram for each combination of labels.
func Histograms(name, help string, buckets []float64, labels ...string) *metrics.HistogramVec {
	return metrics.NewHistogramVec(&metrics.HistogramOpts{Name: name, Help: help, Buckets: buckets, StabilityLevel: metrics.ALPHA}, labels)
}
