// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"strconv"
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	registration sync.Once
	heldShards   = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "docket_controller_shard_held", StabilityLevel: metrics.ALPHA,
		Help: "1 for each shard of the namespaces that this replica works for, 0 for the others. Without --shards there is one, whose number is 0.",
	}, []string{"shard"})
)

// RegisterMetrics adds the metrics of this package to the registry of the process.
func RegisterMetrics() {
	registration.Do(func() { legacyregistry.MustRegister(heldShards) })
}

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
