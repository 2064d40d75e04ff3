// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Values of the label result.
const (
	resultOK       = "ok"
	resultError    = "error"
	resultCanceled = "canceled"
	resultEnded    = "engine_ended"
)

var (
	registration sync.Once
	engineUp     = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "docket_controller_engine_up", StabilityLevel: metrics.ALPHA,
		Help: "1 while an engine that is a process of its own is there, 0 while it is away: its policies are not evaluated then, and their results stay as they are.",
	}, []string{"engine"})
	restarts = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_engine_restarts_total", StabilityLevel: metrics.ALPHA,
		Help: "Starts of an engine that is a process of its own, after the first one.",
	}, []string{"engine"})
	singledOut = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_engine_singled_out_total", StabilityLevel: metrics.ALPHA,
		Help: "Pairs of a policy and a resource or request that have ended the engine each time, and are not evaluated any more.",
	}, []string{"engine"})
	calls = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name: "docket_controller_engine_call_duration_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time of a call to an engine that is a process of its own, by method and result: ok, error, canceled, or engine_ended if the engine has ended meanwhile. Ask waits for what the engine asks.",
		Buckets: []float64{0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 30},
	}, []string{"engine", "method", "result"})
)

// RegisterMetrics adds the metrics of this package to the registry of the process.
func RegisterMetrics() {
	registration.Do(func() { legacyregistry.MustRegister(engineUp, restarts, singledOut, calls) })
}

func observe(engine, method string, took time.Duration, err error) {
	result := resultOK
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		result = resultCanceled
	case ended(err):
		result = resultEnded
	case err != nil:
		result = resultError
	}
	calls.WithLabelValues(engine, method, result).Observe(took.Seconds())
}
