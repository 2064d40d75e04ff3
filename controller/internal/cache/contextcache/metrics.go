// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/component-base/metrics"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/metric"
)

// Values of labels.
const (
	kindResource  = "resource"
	kindCall      = "call"
	resultSuccess = "success"
	resultFailure = "failure"

	// maxLabeled is how many entries have metrics of their own.
	maxLabeled = 100
)

// Metrics has the metrics of a context cache, in no registry yet.
type Metrics struct {
	entries, age, stale            *metrics.GaugeVec
	objects, bytes, limit, dropped *metrics.Gauge
	queries, refreshes, failures   *metrics.CounterVec
	evictions                      *metrics.Counter
}

// NewMetrics returns metrics for a cache of which there are several in a process.
func NewMetrics() *Metrics {
	return &Metrics{
		entries:   metric.Gauges("docket_controller_context_cache_entries", "Entries of the context cache by state: loaded, loading, invalid, forbidden, stale, failing, evicted, toolarge.", "state"),
		objects:   metric.Gauge("docket_controller_context_cache_objects", "Objects and answers of calls that the context cache holds."),
		bytes:     metric.Gauge("docket_controller_context_cache_bytes", "Estimated memory of the data in the context cache, lists that are being loaded included."),
		limit:     metric.Gauge("docket_controller_context_cache_limit_bytes", "What the data in the context cache may take; 0 if there is no limit."),
		queries:   metric.Counters("docket_controller_context_cache_queries_total", "Queries by result: hit if the data were there, miss if they had to be waited for, error.", "result"),
		evictions: metric.Counter("docket_controller_context_cache_evictions_total", "Evictions of data because of the memory limit."),
		refreshes: metric.Counters("docket_controller_context_cache_refreshes_total", "Complete lists and calls by kind of entry (resource, call) and result (success, failure); watches that fail count as failures.", "kind", "result"),
		failures:  metric.Counters("docket_controller_context_cache_failures_total", "Failures by reason: timeout, connect, blocked, tls, redirect, status, forbidden, not_found, size, content, too_large, other.", "reason"),
		age:       metric.Gauges("docket_controller_context_cache_age_seconds", "Time since the data of a named entry were complete last: a list, or an answer. A watch keeps a list right without a new one. At most 100 entries.", "kind", "entry"),
		stale:     metric.Gauges("docket_controller_context_cache_staleness_seconds", "Time since the data of a named entry were known to be right; 0 while they are. At most 100 entries.", "kind", "entry"),
		dropped:   metric.Gauge("docket_controller_context_cache_dropped_fields", "Fields of contexts in a ClusterPolicy that read the context cache, and that the served definition of ClusterPolicy does not have, so that the API server may drop them."),
	}
}

// All returns what a registry needs.
func (m *Metrics) All() []metrics.Registerable {
	return []metrics.Registerable{
		m.entries, m.objects, m.bytes, m.limit, m.queries, m.evictions, m.refreshes, m.failures, m.age, m.stale, m.dropped,
	}
}

// ofProcess is the default of [Config.Metrics].
var ofProcess = NewMetrics()

// RegisterMetrics adds the metrics of caches that have none of their own to the registry of the process. Further
// calls do nothing.
var RegisterMetrics = metric.Registration(ofProcess.All()...)

// observe updates the gauges. The planner calls it.
func (c *Cache) observe() {
	m, index, now := c.config.Metrics, c.index.Load(), c.config.Clock.Now()
	counts := map[string]int{}
	for _, reason := range reasons {
		counts[strings.ToLower(reason)] = 0
	}
	objects := 0
	for _, d := range c.datasets {
		if s := d.state.Load(); s.data != nil {
			objects += s.data.Len()
		}
	}
	labeled := map[policy.Entry]bool{}
	for _, id := range slices.SortedFunc(maps.Keys(index.entries), func(a, b policy.Entry) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	}) {
		e := index.entries[id]
		reason, _ := e.condition()
		counts[strings.ToLower(reason)]++
		if id.Kind == "" || len(labeled) == maxLabeled {
			continue
		}
		labeled[id] = true
		staleness := 0.0
		if e.data != nil {
			s := e.data.state.Load()
			if !s.refreshed.IsZero() {
				m.age.WithLabelValues(id.Kind, id.Name).Set(now.Sub(s.refreshed).Seconds())
			}
			if s.err != nil {
				staleness = now.Sub(s.since).Seconds()
			}
		}
		m.stale.WithLabelValues(id.Kind, id.Name).Set(staleness)
	}
	for id := range c.labeled {
		if !labeled[id] {
			m.age.DeleteLabelValues(id.Kind, id.Name)
			m.stale.DeleteLabelValues(id.Kind, id.Name)
		}
	}
	c.labeled = labeled
	for state, count := range counts {
		m.entries.WithLabelValues(state).Set(float64(count))
	}
	m.objects.Set(float64(objects))
	m.bytes.Set(float64(c.bytes()))
	m.limit.Set(float64(c.config.MemoryLimit))
	m.queries.WithLabelValues("hit").Add(float64(c.tally.hits.Swap(0)))
	m.queries.WithLabelValues("miss").Add(float64(c.tally.misses.Swap(0)))
	m.queries.WithLabelValues("error").Add(float64(c.tally.errors.Swap(0)))
}

// forget is called when nothing is held any more.
func (m *Metrics) forget() {
	m.entries.Reset()
	m.age.Reset()
	m.stale.Reset()
	m.objects.Set(0)
	m.bytes.Set(0)
}
