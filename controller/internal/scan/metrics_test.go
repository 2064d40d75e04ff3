// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestMetrics: all are there, and say what a scan has found. Not parallel, because the gauges are
// those of the last scanner that looked.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	w.namespace(t, "metrics")
	w.configMap(t, "metrics", "a")
	w.policy(t, "metrics", spec{Targets: targets("ConfigMap"), Rules: asking("team")})
	w.policy(t, "metrics-problem", spec{Targets: targets("ConfigMap"), Problem: "no"})
	w.policy(t, "metrics-admission", spec{Targets: targets("ConfigMap"), Admission: true})
	r := w.scan(t)
	r.rest(t)
	want := []string{
		`docket_controller_evaluations_total{outcome="fail"}`,
		`docket_controller_evaluations_total{outcome="error"}`,
		`docket_controller_evaluation_duration_seconds`,
		`docket_controller_scan_queue{priority="low"} 0`,
		`docket_controller_scan_queue{priority="high"} 0`,
		`docket_controller_scan_lag_seconds 0`,
		`docket_controller_scan_aside`,
		`docket_controller_slow_policies{state="aside"}`,
		`docket_controller_slow_policies{state="left_alone"} 0`,
		`docket_controller_policies{kind="ClusterPolicy",state="evaluated"} 1`,
		`docket_controller_policies{kind="ClusterPolicy",state="problem"} 1`,
		`docket_controller_policies{kind="ClusterPolicy",state="admission"} 1`,
		`docket_controller_resources`,
		`docket_controller_informers{state="listed"}`,
		`docket_controller_informers{state="failing"} 0`,
	}
	testkit.Settles(t, func() string {
		text := metricsText(t)
		for _, line := range want {
			if !strings.Contains(text, "\n"+line) {
				return line + " is missing in" + text
			}
		}
		return ""
	})
	r.stop()
	if text := metricsText(t); strings.Contains(text, `state="evaluated"} 1`) || !strings.Contains(text, "\ndocket_controller_resources 0") {
		t.Errorf("gauges after the end: %s", text)
	}
}

// metricsText returns the metrics of the package, each line after a newline.
func metricsText(tb testing.TB) string {
	tb.Helper()
	families := testkit.Must(legacyregistry.DefaultGatherer.Gather())(tb)
	var text strings.Builder
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "docket_controller_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			text.WriteString("\n" + family.GetName())
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+`="`+label.GetValue()+`"`)
			}
			if len(labels) > 0 {
				text.WriteString("{" + strings.Join(labels, ",") + "}")
			}
			if gauge := metric.GetGauge(); gauge != nil {
				text.WriteString(" " + strconv.FormatFloat(gauge.GetValue(), 'f', -1, 64))
			}
		}
	}
	return text.String()
}
