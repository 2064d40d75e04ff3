// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"k8s.io/component-base/metrics"

	"github.com/docket-project/docket/internal/kit/metric"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/hub"
	"github.com/docket-project/docket/internal/store/writer"
)

var (
	operationSeconds   = metric.Histograms("docket_store_operation_duration_seconds", "Time that an operation of the store took, waiting for the database included, by operation, resource and result.", metrics.ExponentialBuckets(0.0005, 2, 15), "operation", "resource", "result")
	feedResets         = metric.Counter("docket_store_feed_resets_total", "How often watches had to start anew because the database was restored, failed over, or ran ahead of this process.")
	housekeepingErrors = metric.Counter("docket_store_housekeeping_errors_total", "Failed attempts to drop history, delete expired objects, tidy up or measure the database.")
	watchLag           = metric.Gauge("docket_store_watch_lag_seconds", "How long ago watches last had everything that the database holds; about a second at most while all is well.")
	polling            = metric.Gauge("docket_store_polling", "1 when a pooler in front of the database keeps it from telling this process of other replicas' changes, so that it has to ask for them (10 times a second); 0 otherwise.")
	tableReads         = metric.Counter("docket_store_watch_table_reads_total", "Pages of events that watches read from the database because memory no longer held them.")
	cacheRequests      = metric.Counters("docket_store_object_cache_requests_total", "Look-ups in the cache of decoded objects, by result (hit or miss).", "result")
	derivedObjects     = metric.Counters("docket_store_derived_objects_total", "Objects whose index terms and result rows were derived anew after an upgrade or a change of a mapping, by resource.", "resource")
	indexComplete      = metric.Gauges("docket_store_index_complete", "Whether lists with selectors go by an index, by resource: 0 while it is derived anew after an upgrade, when they read all objects.", "resource")
	fleetReplicas      = metric.Gauge("docket_store_replicas", "Processes that use this cluster of the database, this one included, as of their last minute.")
	formats            = metric.Gauges("docket_store_format", "Formats: min_reader and min_writer are what the database demands, reads and writes what this program can.", "of")
	gauges             = metric.Gauges("docket_store_size", "Sizes as of the last minute: watchers, ring_events, ring_bytes, cache_objects, cache_bytes, database_bytes, history_events, history_bytes, history_seconds, result_rows.", "of")
)

var register = metric.Registration(operationSeconds, feedResets, watchLag, polling, housekeepingErrors, tableReads, cacheRequests,
	derivedObjects, indexComplete, fleetReplicas, formats, gauges)

// RegisterMetrics registers the metrics of the store and its parts. Calling it again does no harm.
func RegisterMetrics() {
	register()
	writer.RegisterMetrics()
	for _, result := range []string{"hit", "miss"} { // Most reads go past the cache: a rate begins at 0 and not at the first look-up.
		cacheRequests.WithLabelValues(result)
	}
}

func observeOperation(operation, resource string, err error, took time.Duration) {
	result := "success"
	if err != nil {
		result = "error"
	}
	operationSeconds.WithLabelValues(operation, resource, result).Observe(took.Seconds())
}

func observePolling(e engine.Engine) {
	var polls float64
	if p, ok := e.(engine.Poller); ok && p.Polls() {
		polls = 1
	}
	polling.Set(polls)
}

func observeDerivation(resource string, complete bool) {
	var value float64
	if complete {
		value = 1
	}
	indexComplete.WithLabelValues(resource).Set(value)
}

func observeFleet(f engine.Fleet) {
	fleetReplicas.Set(float64(f.Replicas))
	formats.WithLabelValues("reads").Set(float64(engine.ReadsFormat))
	formats.WithLabelValues("writes").Set(float64(engine.WritesFormat))
	formats.WithLabelValues("min_reader").Set(float64(f.Demands.Reader))
	formats.WithLabelValues("min_writer").Set(float64(f.Demands.Writer))
}

func observeUsage(u engine.Usage, now time.Time) {
	gauges.WithLabelValues("database_bytes").Set(float64(u.DatabaseBytes))
	gauges.WithLabelValues("history_events").Set(float64(u.Events))
	gauges.WithLabelValues("history_bytes").Set(float64(u.HistoryBytes))
	gauges.WithLabelValues("result_rows").Set(float64(u.Results))
	var age float64
	if !u.Oldest.IsZero() {
		age = now.Sub(u.Oldest).Seconds()
	}
	gauges.WithLabelValues("history_seconds").Set(age)
}

func observeHub(h hub.Stats, c cacheStats) {
	gauges.WithLabelValues("watchers").Set(float64(h.Watchers))
	gauges.WithLabelValues("ring_events").Set(float64(h.Events))
	gauges.WithLabelValues("ring_bytes").Set(float64(h.Bytes))
	gauges.WithLabelValues("cache_objects").Set(float64(c.objects))
	gauges.WithLabelValues("cache_bytes").Set(float64(c.bytes))
}
