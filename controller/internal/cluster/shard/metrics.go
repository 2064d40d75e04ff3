// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"strconv"

	"github.com/docket-project/docket/internal/kit/metric"
)

var heldShards = metric.Gauges("docket_controller_shard_held", "1 for each shard of the namespaces that this replica works for, 0 for the others. Without --shards there is one, whose number is 0.", "shard")

// RegisterMetrics adds the metrics of this package to the registry of the process.
var RegisterMetrics = metric.Registration(heldShards)

// observe sets the metrics.
func observe(leases []*lease) {
	for _, l := range leases {
		held := 0.0
		if l.held {
			held = 1
		}
		heldShards.WithLabelValues(strconv.Itoa(l.shard)).Set(held)
	}
}
