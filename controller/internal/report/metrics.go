// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/metric"
)

const (
	opCreate = "create"
	opUpdate = "update"
	opDelete = "delete"
)

var (
	writesTotal        = metric.Counters("docket_controller_report_writes_total", "Writes of reports, by operation (create, update, delete) and result (success, conflict, foreign, forbidden, namespace_gone, not_found, error).", "operation", "result")
	writtenBytes       = metric.Counter("docket_controller_report_written_bytes_total", "Bytes of JSON of the reports that were created or updated.")
	writeSeconds       = metric.Histograms("docket_controller_report_write_duration_seconds", "Time that the server took for one write of a report, by operation.", metrics.ExponentialBuckets(0.001, 2, 15), "operation")
	reportsGauge       = metric.Gauge("docket_controller_reports", "Reports that the server has or should have.")
	resultsGauge       = metric.Gauges("docket_controller_results", "Current results, by outcome.", "outcome")
	policyResultsGauge = metric.Gauges("docket_controller_policy_results", "Current results by kind and name of the policy, namespace of the subject and outcome. Pairs of policy and namespace beyond the limit are summed up as (others).", "policy_kind", "policy", "subject_namespace", "outcome")
	unlistedGauge      = metric.Gauge("docket_controller_policy_results_unlisted", "Pairs of policy and namespace whose results are summed up as (others), because there are more than the limit.")
	pendingGauge       = metric.Gauge("docket_controller_report_pending", "Reports that wait to be written or looked at.")
	queueGauge         = metric.Gauges("docket_controller_report_queue", "Reports that wait to be written, by lane: changed, retry after a failure, or held back until other reports are written.", "lane")
	queueAgeGauge      = metric.Gauges("docket_controller_report_queue_oldest_seconds", "Age of the oldest change that waits to be written, by the lane of its report; since the last attempt if that has failed.", "lane")
)

// RegisterMetrics registers the metrics of reports. Calling it again does no harm.
var RegisterMetrics = metric.Registration(writesTotal, writtenBytes, writeSeconds, reportsGauge, resultsGauge, policyResultsGauge, unlistedGauge, pendingGauge, queueGauge, queueAgeGauge)

func observeWrite(operation string, err error, took time.Duration, size int) {
	if err == nil {
		writtenBytes.Add(float64(size))
	}
	writesTotal.WithLabelValues(operation, resultOf(err)).Inc()
	writeSeconds.WithLabelValues(operation).Observe(took.Seconds())
}

// resultOf returns how a write went, for the metric.
func resultOf(err error) string {
	switch {
	case err == nil:
		return "success"
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return "conflict"
	case policy.NamespaceGone(err):
		return "namespace_gone"
	case apierrors.IsForbidden(err):
		return "forbidden"
	case apierrors.IsNotFound(err):
		return "not_found"
	default:
		return "error"
	}
}

// countForeign counts a report that is not written because one of its name is not ours.
func countForeign() { writesTotal.WithLabelValues(opCreate, "foreign").Inc() }

func observeReports(n int) { reportsGauge.Set(float64(n)) }

func observePending(n int) { pendingGauge.Set(float64(n)) }

// The lanes in which reports wait to be written.
const (
	laneChanged = "changed"
	laneRetry   = "retry"
	laneHeld    = "held"
)

// lane returns where a dirty report waits.
func (rs *reportState) lane() string {
	switch {
	case rs.failures > 0:
		return laneRetry
	case rs.place == 0 && !rs.busy:
		return laneHeld
	default:
		return laneChanged
	}
}

// observeQueue sets the metrics of what waits to be written. It is called with the mutex.
func (p *plan) observeQueue(now time.Time) {
	lengths := map[string]int{laneChanged: 0, laneRetry: 0, laneHeld: 0}
	ages := map[string]time.Duration{}
	for rs := range p.dirty {
		lane := rs.lane()
		lengths[lane]++
		ages[lane] = max(ages[lane], now.Sub(rs.first))
	}
	for lane, length := range lengths {
		queueGauge.WithLabelValues(lane).Set(float64(length))
		queueAgeGauge.WithLabelValues(lane).Set(ages[lane].Seconds())
	}
}

// observe sets the numbers of results.
func (l *Layout) observe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.observe()
}
