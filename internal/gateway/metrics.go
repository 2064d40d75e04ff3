// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Kinds of requests, the label of metrics.
const (
	kindRequest = "request"
	kindStream  = "stream"
	kindUpgrade = "upgrade"
)

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
	emptiedNamespaces = metrics.NewCounter(&metrics.CounterOpts{
		Name:           "docket_gateway_emptied_namespaces_total",
		Help:           "Namespaces that ended in the cluster and whose objects behind the gateway were deleted.",
		StabilityLevel: metrics.ALPHA,
	})
)

// registerMetrics makes the metrics of the process visible, once.
//
//nolint:gochecknoglobals // As in the other packages: the registry is global.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(upstreamRequests, upstreamInFlight, upstreamUp, upstreamVersions, emptiedNamespaces)
})
