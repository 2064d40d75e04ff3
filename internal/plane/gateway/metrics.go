// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var emptiedNamespaces = metrics.NewCounter(&metrics.CounterOpts{
	Name:           "docket_gateway_emptied_namespaces_total",
	Help:           "Namespaces that ended in the cluster and whose objects behind the gateway were deleted.",
	StabilityLevel: metrics.ALPHA,
})

// registerMetrics makes the metrics of the process visible, once.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(emptiedNamespaces)
})
