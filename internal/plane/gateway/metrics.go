// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "github.com/docket-project/docket/internal/kit/metric"

var emptiedNamespaces = metric.Counter("docket_gateway_emptied_namespaces_total",
	"Namespaces that ended in the cluster and whose objects behind the gateway were deleted.")

// registerMetrics makes the metrics of the process visible, once.
var registerMetrics = metric.Registration(emptiedNamespaces)
