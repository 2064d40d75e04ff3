// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import "github.com/docket-project/docket/internal/kit/metric"

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
	queueLength    = metric.Gauge("docket_controller_admission_queue", "Subjects whose results of admission requests wait to be written as EphemeralReports.")
	dropped        = metric.Counters("docket_controller_admission_dropped_total", "Subjects whose results of admission requests were dropped, by reason: overflow, namespace (gone), not_served (no EphemeralReports), refused, too_large, expired, shutdown.", "reason")
	written        = metric.Counters("docket_controller_admission_ephemeral_report_writes_total", "Writes of EphemeralReports by result: success, retry if the same is tried again, dropped.", "result")
	read           = metric.Counters("docket_controller_admission_ephemeral_reports_total", "EphemeralReports that the leader has deleted, by what became of them: merged, malformed, or expired if nothing could be decided about them.", "result")
	held           = metric.Gauge("docket_controller_admission_ephemeral_reports_held", "EphemeralReports that the leader has read and not yet deleted.")
	readErrors     = metric.Counters("docket_controller_admission_ephemeral_report_errors_total", "Errors of the leader with EphemeralReports, by operation: list, watch, delete, or flush of the reports that take their results.", "operation")
	adoptedRead    = metric.Counters("docket_controller_adopted_ephemeral_reports_total", "EphemeralReports of Kyverno's own controllers that the leader has deleted, by what became of them: merged, malformed, or expired if nothing could be decided about them.", "result")
	adoptedHeld    = metric.Gauge("docket_controller_adopted_ephemeral_reports_held", "EphemeralReports of Kyverno's own controllers that the leader has read and not yet deleted.")
	replacedRead   = metric.Counters("docket_controller_replaced_reports_total", "Reports of Kyverno's reports controller that the leader has deleted, by what became of them: merged, malformed, or expired if nothing could be decided about them.", "result")
	replacedHeld   = metric.Gauge("docket_controller_replaced_reports_held", "Reports of Kyverno's reports controller that the leader has read and not yet deleted.")
	replacedErrors = metric.Counters("docket_controller_replaced_report_errors_total", "Errors of the leader with reports of Kyverno's reports controller, by operation: list, watch, delete, or flush of the reports that take their results.", "operation")
	adoptedErrors  = metric.Counters("docket_controller_adopted_ephemeral_report_errors_total", "Errors of the leader with EphemeralReports of Kyverno's own controllers, by operation: list, watch, delete, or flush of the reports that take their results.", "operation")
)

// RegisterMetrics adds the metrics of this package to the registry of the process.
var RegisterMetrics = metric.Registration(queueLength, dropped, written, read, held, readErrors, adoptedRead, adoptedHeld, adoptedErrors, replacedRead, replacedHeld, replacedErrors)
