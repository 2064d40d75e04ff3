// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/docket-project/docket/internal/kit/metric"

// Values of the label webhook.
const (
	webhookFail   = "fail"
	webhookIgnore = "ignore"
)

// Values of the label reason of requests without an answer.
const (
	refusedOverload  = "overload"
	refusedNotReady  = "not_ready"
	refusedMalformed = "malformed"
	refusedSlow      = "slow"
)

// Values of the label result of Events.
const (
	eventSent    = "sent"
	eventDropped = "dropped"
	eventFailed  = "failed"
)

var (
	requestsTotal    = metric.Counters("docket_controller_admission_requests_total", "Admission requests that were answered, by webhook (fail, ignore), operation, and whether they were allowed.", "webhook", "operation", "allowed")
	refusedTotal     = metric.Counters("docket_controller_admission_refused_total", "Admission requests without an answer, for which the failurePolicy of the webhook decides, by webhook and reason: overload, not_ready, malformed, slow.", "webhook", "reason")
	requestSeconds   = metric.Histograms("docket_controller_admission_duration_seconds", "Time from an admission request to its answer, by webhook.", []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}, "webhook")
	policyErrors     = metric.Counters("docket_controller_admission_policy_errors_total", "Policies that could not be evaluated for an admission request, by webhook: with a rule in error, or at all.", "webhook")
	eventsTotal      = metric.Counters("docket_controller_admission_events_total", "Events about denied requests, one for each rule that denies, by result: sent, failed if the API did not take it, dropped if there were too many at a time.", "result")
	requestsInFlight = metric.Gauges("docket_controller_admission_in_flight", "Admission requests that hold a place, by webhook, with those that a policy goes on with after their answer.", "webhook")
)

// RegisterMetrics adds the metrics of admission to the registry of the process.
var RegisterMetrics = metric.Registration(requestsTotal, refusedTotal, requestSeconds, policyErrors, eventsTotal, requestsInFlight)
