// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/metric"
)

// others is the value of the labels policy and subject_namespace for all results without series of their
// own. It is not a valid name of a policy or namespace.
const others = "(others)"

// tally counts results by outcome as reports show it. It is guarded by the mutex of its layout.
type tally struct {
	total counts
	// limit is the number of pairs that can have series of their own; 0 means no series at all.
	limit int
	pairs map[pair]*pairCount
	// listed is the number of pairs that have series of their own. A pair keeps them as long as it has
	// results, so that pairs don't keep changing between their own series and the others.
	listed int
	// rest counts the results of all other pairs.
	rest counts
	// changed are the pairs whose series have to be set.
	changed map[pair]struct{}
}

// counts has the number of results for each of [report.Outcomes].
type counts [5]int

// pair is a policy and the namespace of its subjects.
type pair struct {
	policy    policy.Identity
	namespace string
}

type pairCount struct {
	counts
	listed bool
}

func newTally(limit int) tally {
	return tally{limit: limit, pairs: map[pair]*pairCount{}, changed: map[pair]struct{}{}}
}

// position returns the index of an outcome in [report.Outcomes]. It is called for each change of a result, so
// it does not search.
func position(outcome report.Outcome) int {
	switch outcome {
	case report.OutcomePass:
		return 0
	case report.OutcomeFail:
		return 1
	case report.OutcomeWarn:
		return 2
	case report.OutcomeError:
		return 3
	case report.OutcomeSkip:
		return 4
	default:
		return 3 // There are no others: see fitText.
	}
}

// add counts n more results of a policy and namespace that are shown with an outcome.
func (t *tally) add(key pair, outcome report.Outcome, n int) {
	at := position(outcome)
	t.total[at] += n
	if t.limit == 0 {
		return
	}
	p := t.pairs[key]
	if p == nil {
		p = &pairCount{}
		t.pairs[key] = p
		t.list(key, p)
	}
	p.counts[at] += n
	if !p.listed {
		t.rest[at] += n
	}
	if p.counts == (counts{}) {
		delete(t.pairs, key)
		if p.listed {
			t.listed--
		}
	}
	if p.listed {
		t.changed[key] = struct{}{}
	}
}

// list gives a pair series of its own if the limit allows it, and reports whether it has.
func (t *tally) list(key pair, p *pairCount) bool {
	if p.listed || t.listed >= t.limit {
		return false
	}
	p.listed = true
	t.listed++
	for at, n := range p.counts {
		t.rest[at] -= n
	}
	t.changed[key] = struct{}{}
	return true
}

// fill gives series that have become free to other pairs, in the order of their policies.
func (t *tally) fill() {
	if t.listed >= t.limit || t.listed == len(t.pairs) {
		return
	}
	var waiting []pair
	for key, p := range t.pairs {
		if !p.listed {
			waiting = append(waiting, key)
		}
	}
	slices.SortFunc(waiting, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.policy.String(), b.policy.String()), cmp.Compare(a.namespace, b.namespace))
	})
	for _, key := range waiting {
		if !t.list(key, t.pairs[key]) {
			return
		}
	}
}

// observe sets the metrics.
func (t *tally) observe() {
	for at, outcome := range report.Outcomes() {
		resultsGauge.WithLabelValues(string(outcome)).Set(float64(t.total[at]))
	}
	if t.limit == 0 {
		return
	}
	t.fill()
	for key := range t.changed {
		var now counts
		if p := t.pairs[key]; p != nil && p.listed {
			now = p.counts
		}
		setSeries(key.policy.Kind, key.policy.ResultName(), key.namespace, now)
	}
	clear(t.changed)
	setSeries("", others, others, t.rest)
	unlistedGauge.Set(float64(len(t.pairs) - t.listed))
}

// setSeries sets the series of a pair, without the outcomes that it does not have.
func setSeries(kind, name, namespace string, now counts) {
	for at, outcome := range report.Outcomes() {
		if now[at] == 0 {
			policyResultsGauge.DeleteLabelValues(kind, name, namespace, string(outcome))
			continue
		}
		policyResultsGauge.WithLabelValues(kind, name, namespace, string(outcome)).Set(float64(now[at]))
	}
}

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
