// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/kit/metric"
)

var problemMetric = metric.Gauges("docket_apiserver_registration_problem",
	"1 for each reason for which clients of the cluster may not get the reports of this server, by group. "+
		"There is none before the cluster was asked twice.", "group", "reason")

// RegisterMetrics registers the metrics of this package, once. Earlier measurements are lost.
var RegisterMetrics = metric.Registration(problemMetric)

// measure shows the problems of a group, and that it has no others.
func measure(group string, problems []Problem) {
	for _, reason := range reasons() {
		value := 0.0
		if slices.Contains(reasonsOf(problems), reason) {
			value = 1
		}
		problemMetric.WithLabelValues(group, label(reason)).Set(value)
	}
}

// label is a reason as other metrics write words: NotRegistered is not_registered.
func label(reason Reason) string {
	var b strings.Builder
	for i, r := range string(reason) {
		if i > 0 && 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}
