// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry sends traces and metrics to an OpenTelemetry collector. Traces are configured as those of
// kube-apiserver are, by a TracingConfiguration; metrics are those of /metrics.
//
// Spans are made by the packages that do the work, with the tracer provider that is registered for the process:
// [go.opentelemetry.io/otel.Tracer]. Without a configuration they cost next to nothing.
//
// Goroutines: those of the exporters, which [Telemetry.Shutdown] ends.
package telemetry
