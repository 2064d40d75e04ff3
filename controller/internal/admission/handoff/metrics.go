// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Reasons for which results are dropped.
const (
	// dropOverflow: too many wait, and these are the oldest.
	dropOverflow = "overflow"
	// dropNamespace: the namespace is gone or going.
	dropNamespace = "namespace"
	// dropNotServed: the API has no EphemeralReports.
	dropNotServed = "not_served"
	// dropRefused: the API does not want them as they are.
	dropRefused = "refused"
	// dropTooLarge: the results of one policy don't fit into an EphemeralReport.
	dropTooLarge = "too_large"
	// dropExpired: the API was away for too long.
	dropExpired = "expired"
	// dropShutdown: the process ended first.
	dropShutdown = "shutdown"
)

// What became of an EphemeralReport at the leader.
const (
	readMerged    = "merged"
	readMalformed = "malformed"
	readExpired   = "expired"
)

var (
	queueLength = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "docket_controller_admission_queue", StabilityLevel: metrics.ALPHA,
		Help: "Subjects whose results of admission requests wait to be written as EphemeralReports.",
	})
	dropped = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_admission_dropped_total", StabilityLevel: metrics.ALPHA,
		Help: "Subjects whose results of admission requests were dropped, by reason: overflow, namespace (gone), not_served (no EphemeralReports), refused, too_large, expired, shutdown.",
	}, []string{"reason"})
	written = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_admission_ephemeral_report_writes_total", StabilityLevel: metrics.ALPHA,
		Help: "Writes of EphemeralReports by result: success, retry if the same is tried again, dropped.",
	}, []string{"result"})
	read = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_admission_ephemeral_reports_total", StabilityLevel: metrics.ALPHA,
		Help: "EphemeralReports that the leader has deleted, by what became of them: merged, malformed, or expired if nothing could be decided about them.",
	}, []string{"result"})
	held = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "docket_controller_admission_ephemeral_reports_held", StabilityLevel: metrics.ALPHA,
		Help: "EphemeralReports that the leader has read and not yet deleted.",
	})
	readErrors = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_admission_ephemeral_report_errors_total", StabilityLevel: metrics.ALPHA,
		Help: "Errors of the leader with EphemeralReports, by operation: list, watch, delete, or flush of the reports that take their results.",
	}, []string{"operation"})
	adoptedRead = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_adopted_ephemeral_reports_total", StabilityLevel: metrics.ALPHA,
		Help: "EphemeralReports of Kyverno's own controllers that the leader has deleted, by what became of them: merged, malformed, or expired if nothing could be decided about them.",
	}, []string{"result"})
	adoptedHeld = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "docket_controller_adopted_ephemeral_reports_held", StabilityLevel: metrics.ALPHA,
		Help: "EphemeralReports of Kyverno's own controllers that the leader has read and not yet deleted.",
	})
	replacedRead = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_replaced_reports_total", StabilityLevel: metrics.ALPHA,
		Help: "Reports of Kyverno's reports controller that the leader has deleted, by what became of them: merged, malformed, or expired if nothing could be decided about them.",
	}, []string{"result"})
	replacedHeld = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "docket_controller_replaced_reports_held", StabilityLevel: metrics.ALPHA,
		Help: "Reports of Kyverno's reports controller that the leader has read and not yet deleted.",
	})
	replacedErrors = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_replaced_report_errors_total", StabilityLevel: metrics.ALPHA,
		Help: "Errors of the leader with reports of Kyverno's reports controller, by operation: list, watch, delete, or flush of the reports that take their results.",
	}, []string{"operation"})
	adoptedErrors = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_adopted_ephemeral_report_errors_total", StabilityLevel: metrics.ALPHA,
		Help: "Errors of the leader with EphemeralReports of Kyverno's own controllers, by operation: list, watch, delete, or flush of the reports that take their results.",
	}, []string{"operation"})
)

// RegisterMetrics adds the metrics of this package to the registry of the process. Further calls do
// nothing.
//
//nolint:gochecknoglobals // As in the other packages: the registry is global.
var RegisterMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(queueLength, dropped, written, read, held, readErrors, adoptedRead, adoptedHeld, adoptedErrors, replacedRead, replacedHeld, replacedErrors)
})
