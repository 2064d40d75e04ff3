// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import "k8s.io/component-base/metrics"

// Metric is the gauge of problems, for tests.
func Metric() *metrics.GaugeVec { return problemMetric }
