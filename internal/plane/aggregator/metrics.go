// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import "github.com/docket-project/docket/internal/kit/metric"

var (
	availableGauge = metric.Gauges("docket_aggregator_apiservice_available",
		"1 if the extension server of an APIService passed its last check, else 0, by name of the APIService.", "apiservice")
	probes = metric.Counters("docket_aggregator_probes_total",
		"Checks of extension servers, by reason of the resulting condition (Passed if all is well).", "reason")
	proxied = metric.Counters("docket_aggregator_proxied_requests_total",
		"Requests to extension servers, by status code of the answer.", "code")
	documentErrors = metric.Counters("docket_aggregator_openapi_errors_total",
		"OpenAPI documents of extension servers that could not be read or merged, by name of the APIService.", "apiservice")
)

// Kinds of requests to the upstream cluster.
const (
	kindRequest = "request"
	kindStream  = "stream"
	kindUpgrade = "upgrade"
)

// Metrics of an upstream cluster.
var (
	upstreamRequests = metric.Counters("docket_gateway_upstream_requests_total",
		"Requests that went to the cluster, by kind (request, stream: watches and logs, upgrade: exec and the like) and by the code of the answer.", "kind", "code")
	upstreamInFlight = metric.Gauges("docket_gateway_upstream_requests_in_flight",
		"Requests that the cluster is working on, by kind.", "kind")
	upstreamUp = metric.Gauge("docket_gateway_upstream_up",
		"1 if the cluster answered the last question about what it serves, else 0.")
	upstreamVersions = metric.Gauge("docket_gateway_upstream_group_versions",
		"Group versions that the cluster serves.")
)

// registerMetrics makes the metrics of the process visible, once.
var registerMetrics = metric.Registration(availableGauge, probes, proxied, documentErrors)

// registerUpstreamMetrics does the same for an aggregator in front of a cluster.
var registerUpstreamMetrics = metric.Registration(upstreamRequests, upstreamInFlight, upstreamUp, upstreamVersions)
