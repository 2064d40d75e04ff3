// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	availableGauge = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "docket_aggregator_apiservice_available",
		Help:           "1 if the extension server of an APIService passed its last check, else 0, by name of the APIService.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"apiservice"})
	probes = metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "docket_aggregator_probes_total",
		Help:           "Checks of extension servers, by reason of the resulting condition (Passed if all is well).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"reason"})
	proxied = metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "docket_aggregator_proxied_requests_total",
		Help:           "Requests to extension servers, by status code of the answer.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"code"})
	documentErrors = metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "docket_aggregator_openapi_errors_total",
		Help:           "OpenAPI documents of extension servers that could not be read or merged, by name of the APIService.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"apiservice"})
)

// Kinds of requests to the upstream cluster.
const (
	kindRequest = "request"
	kindStream  = "stream"
	kindUpgrade = "upgrade"
)

// Metrics of an upstream cluster.
var (
	upstreamRequests = metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "docket_gateway_upstream_requests_total",
		Help:           "Requests that went to the cluster, by kind (request, stream: watches and logs, upgrade: exec and the like) and by the code of the answer.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"kind", "code"})
	upstreamInFlight = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "docket_gateway_upstream_requests_in_flight",
		Help:           "Requests that the cluster is working on, by kind.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"kind"})
	upstreamUp = metrics.NewGauge(&metrics.GaugeOpts{
		Name:           "docket_gateway_upstream_up",
		Help:           "1 if the cluster answered the last question about what it serves, else 0.",
		StabilityLevel: metrics.ALPHA,
	})
	upstreamVersions = metrics.NewGauge(&metrics.GaugeOpts{
		Name:           "docket_gateway_upstream_group_versions",
		Help:           "Group versions that the cluster serves.",
		StabilityLevel: metrics.ALPHA,
	})
)

// registerMetrics makes the metrics of the process visible, once.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(availableGauge, probes, proxied, documentErrors)
})

// registerUpstreamMetrics does the same for an aggregator in front of a cluster.
var registerUpstreamMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(upstreamRequests, upstreamInFlight, upstreamUp, upstreamVersions)
})
