// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"slices"

	"k8s.io/component-base/metrics"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/metric"
)

// The value of the label outcome of evaluations without results; otherwise it is the worst outcome.
const outcomeNone = "none"

// Values of the label operation of errors; package source has those of lists and watches.
const (
	operationDiscovery = "discovery"
	operationEvaluate  = "evaluate"
)

// DiscoveryFailed counts a failure to learn which kinds the API serves.
func DiscoveryFailed() { scanErrors.WithLabelValues(operationDiscovery).Inc() }

// RequestFailed counts a failed list or watch, by its operation.
func RequestFailed(operation string) { scanErrors.WithLabelValues(operation).Inc() }

var (
	evaluations       = metric.Counters("docket_controller_evaluations_total", "Evaluations of one policy for one resource by the worst outcome of their rules; none if the policy did not match.", "outcome")
	evaluationSeconds = metrics.NewHistogram(&metrics.HistogramOpts{
		Name: "docket_controller_evaluation_duration_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time of one evaluation of one policy for one resource.",
		Buckets: []float64{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5, 30},
	})
	queueLength     = metric.Gauges("docket_controller_scan_queue", "Resources that wait for evaluation: high priority if the resource changed, low if policies did, at the start, and for periodic scans.", "priority")
	queueOldest     = metric.Gauges("docket_controller_scan_queue_oldest_seconds", "Age of what waits longest for evaluation, by priority as in docket_controller_scan_queue.", "priority")
	admittedWaiting = metric.Gauge("docket_controller_admitted_waiting", "Results of admission requests that wait until their resource exists or is gone.")
	admittedOldest  = metric.Gauge("docket_controller_admitted_waiting_oldest_seconds", "Age of the oldest of docket_controller_admitted_waiting.")
	lagSeconds      = metric.Gauge("docket_controller_scan_lag_seconds", "Age of what waits longest for evaluation.")
	slowQueueLength = metric.Gauge("docket_controller_scan_aside", "Resources for which slow policies are still to be evaluated, once for each such policy. They are not in docket_controller_scan_queue.")
	slowCount       = metric.Gauges("docket_controller_slow_policies", "Policies by state: aside if they are evaluated beside the others since they are slow, left_alone if they rest since their evaluations reached the limit.", "state")
	policyCount     = metric.Gauges("docket_controller_policies", "Policies by kind and state: evaluated, problem if they can't be and give error results, admission if they are not for existing resources, or unreported if reports are not to have their results.", "kind", "state")
	doubtCount      = metric.Gauges("docket_controller_policies_partly_unknown", "Policies by kind that are evaluated without some of their fields, which the engine does not know.", "kind")
	resourceCount   = metric.Gauge("docket_controller_resources", "Resources of the kinds that policies match.")
	dataBytes       = metric.Gauge("docket_controller_resource_bytes", "Compressed data of resources in memory, if GOMEMLIMIT bounds them.")
	notKept         = metric.Gauge("docket_controller_resources_not_kept", "Resources for whose data there is not enough memory, so that they are requested again for each evaluation.")
	fetched         = metric.Counter("docket_controller_resource_requests_total", "Requests for resources whose data are not in memory.")
	informerCount   = metric.Gauges("docket_controller_informers", "Kinds that are watched, those of policies included, by state: listed, waiting for the list, or failing to list or watch.", "state")
	scanErrors      = metric.Counters("docket_controller_scan_errors_total", "Errors of the scanner by operation: discovery, list, watch, evaluate.", "operation")
	entryRescans    = metric.Counter("docket_controller_entry_rescans_total", "How often a policy was evaluated again for all its resources because entries of the context cache that it reads have changed.")
	admittedResults = metric.Counters("docket_controller_admitted_results_total", "What became of the results of one policy for one admission request: applied; ignored because there are later ones, the policy has changed or gone, or the background scan finds them; expired because no such resource came to exist; overflow if too many waited for that.", "outcome")
)

// Values of the label outcome of admitted results.
const (
	admittedApplied  = "applied"
	admittedIgnored  = "ignored"
	admittedExpired  = "expired"
	admittedOverflow = "overflow"
)

// Register adds the metrics of scanners to the registry of the process. Further calls do nothing.
var Register = metric.Registration(evaluations, evaluationSeconds, queueLength, queueOldest, admittedWaiting, admittedOldest, lagSeconds, slowQueueLength, slowCount, policyCount, doubtCount, resourceCount, dataBytes, notKept, fetched, informerCount, scanErrors, entryRescans, admittedResults)

// States of policies and informers.
const (
	stateEvaluated  = "evaluated"
	stateProblem    = "problem"
	stateAdmission  = "admission"
	stateUnreported = "unreported"

	stateListed  = "listed"
	stateWaiting = "waiting"
	stateFailing = "failing"

	stateSlow    = "aside"
	stateResting = "left_alone"
)

// observe updates the gauges, and logs what has changed.
func (p *planner) observe(ctx context.Context) {
	low, high := p.inventory.queue.loads()
	for priority, l := range map[string]load{"low": low, "high": high} {
		queueLength.WithLabelValues(priority).Set(float64(l.length))
		queueOldest.WithLabelValues(priority).Set(l.oldest.Seconds())
	}
	lagSeconds.Set(max(low.oldest, high.oldest).Seconds())
	p.evaluator.observe()
	p.inventory.observe()
	p.inventory.budget.observe(ctx)
	p.logNews(ctx)
}

func (i *inventory) observe() {
	resources := 0
	for _, k := range i.all() {
		resources += k.size()
	}
	resourceCount.Set(float64(resources))
	informers := map[string]int{stateListed: 0, stateWaiting: 0, stateFailing: 0}
	for _, watched := range slices.Concat(i.config.Policies.Sources(), i.sources()) {
		listed, err := watched.State()
		switch {
		case err != nil:
			informers[stateFailing]++
		case listed:
			informers[stateListed]++
		default:
			informers[stateWaiting]++
		}
	}
	setAll(informerCount, informers)
}

func (e *evaluator) observe() {
	waits := e.waiting.load(e.config.Clock.Now())
	admittedWaiting.Set(float64(waits.length))
	admittedOldest.Set(waits.oldest.Seconds())
	e.observeSlow()
	e.observePolicies()
}

// setAll sets gauges with one label.
func setAll(gauges *metrics.GaugeVec, counts map[string]int) {
	for label, count := range counts {
		gauges.WithLabelValues(label).Set(float64(count))
	}
}

func (e *evaluator) observeSlow() {
	waiting, counts := 0, map[string]int{stateSlow: 0, stateResting: 0}
	for _, state := range e.policies {
		state, resources := state.lane.load()
		waiting += resources
		if state != "" {
			counts[state]++
		}
	}
	slowQueueLength.Set(float64(waiting))
	setAll(slowCount, counts)
}

func (e *evaluator) observePolicies() {
	counts, doubts := map[[2]string]int{}, map[string]int{}
	for group := range policy.Kinds() {
		for _, state := range []string{stateEvaluated, stateProblem, stateAdmission, stateUnreported} {
			counts[[2]string{group.Kind, state}] = 0
		}
		doubts[group.Kind] = 0
	}
	for id, p := range e.policies {
		state := stateEvaluated
		switch {
		case !p.item.Policy.Reported():
			state = stateUnreported
		case !p.item.Policy.Background():
			state = stateAdmission
		case p.item.Policy.Problem() != nil:
			state = stateProblem
		}
		counts[[2]string{id.Kind, state}]++
		if p.item.Policy.Doubt() != nil {
			doubts[id.Kind]++
		}
	}
	setAll(doubtCount, doubts)
	for labels, count := range counts {
		policyCount.WithLabelValues(labels[0], labels[1]).Set(float64(count))
	}
}

// forgetGauges is called when the scanner ends: another process may scan now.
func forgetGauges() {
	queueLength.Reset()
	queueOldest.Reset()
	admittedWaiting.Set(0)
	admittedOldest.Set(0)
	lagSeconds.Set(0)
	slowQueueLength.Set(0)
	slowCount.Reset()
	policyCount.Reset()
	doubtCount.Reset()
	resourceCount.Set(0)
	informerCount.Reset()
}
