// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/policy"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

func TestLimitSmallerThanOneEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 4 {
		w.large(t, configMaps, fmt.Sprint("m", i), 20_000)
	}
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	small := w.entry(t, cachedEntries, "small", w.maps("secrets"))
	before := w.metric(t, "failures_total", "too_large")
	cache := w.cache(t, func(c *contextcache.Config) { c.MemoryLimit = 50_000 })
	refuses(t, cache, policy.Query{Entry: id, Expression: "length(items)"}, "too large", "may take 50000", "--context-cache-memory", "bytes or more")
	w.shows(t, cachedEntries, id, contextcache.ReasonTooLarge, "--context-cache-memory")
	w.grows(t, before, "failures_total", "too_large")
	isReady(t, cache)
	gets(t, cache, policy.Query{Entry: small, Expression: "length(items)"}, 0.0)
	// It is not retried, however often it is asked for.
	var requests atomic.Int64
	w.gate.set("/configmaps", func(*http.Request) error {
		requests.Add(1)
		return nil
	})
	for range 3 {
		errorsBefore := w.metric(t, "queries_total", "error")
		// It would wait for the data if they were being loaded.
		if _, err := query(t, cache, policy.Query{Entry: id}); err == nil {
			t.Fatal("it was loaded")
		}
		w.grows(t, errorsBefore, "queries_total", "error") // What is due is done right before queries are counted.
	}
	if requests.Load() > 0 {
		t.Errorf("%d requests", requests.Load())
	}
}

func TestLeastRecentlyUsedEntryIsEvictedAndComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.large(t, configMaps, fmt.Sprint("m", i), 20_000)
		w.large(t, secrets, fmt.Sprint("s", i), 15_000)
	}
	maps := w.entry(t, cachedEntries, "maps", w.maps("configmaps"))
	cache := w.cache(t, func(c *contextcache.Config) { c.MemoryLimit = 100_000 })
	count := func(id policy.Entry) policy.Query { return policy.Query{Entry: id, Expression: "length(items)"} }
	gets(t, cache, count(maps), 3.0)
	before := w.metric(t, "evictions_total")
	hidden := w.entry(t, cachedEntries, "secrets", w.maps("secrets"))
	gets(t, cache, count(hidden), 3.0)
	w.shows(t, cachedEntries, maps, contextcache.ReasonEvicted, "--context-cache-memory", "loaded again")
	w.grows(t, before, "evictions_total")
	result, err := query(t, cache, count(maps)) // It is loaded again, and this waits.
	if err != nil || result != 3.0 {
		t.Errorf("an evicted entry: %v, %v", result, err)
	}
	w.shows(t, cachedEntries, hidden, contextcache.ReasonEvicted)
	isReady(t, cache)
}

// TestEntriesThatDoNotFitTogether: while both are in use, one of them waits for its pause to end. Its queries wait,
// too, are answered in the end, and say what is wrong if their time ends before.
func TestEntriesThatDoNotFitTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.large(t, configMaps, fmt.Sprint("m", i), 20_000)
		w.large(t, secrets, fmt.Sprint("s", i), 15_000)
	}
	both := []policy.Entry{w.entry(t, cachedEntries, "maps", w.maps("configmaps")), w.entry(t, cachedEntries, "secrets", w.maps("secrets"))}
	cache := w.cache(t, func(c *contextcache.Config) { c.MemoryLimit = 100_000 })
	count := func(id policy.Entry) policy.Query { return policy.Query{Entry: id, Expression: "length(items)"} }
	var told error
	var late policy.Entry
	eventually(t, func() error {
		for _, id := range both {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			result, err := cache.Query(ctx, count(id))
			cancel()
			if err == nil && result != 3.0 {
				t.Fatalf("%v of 3 objects", result)
			}
			if told, late = err, id; err != nil && strings.Contains(err.Error(), "fit together") {
				return nil
			}
		}
		return fmt.Errorf("the last error is %w", told)
	})
	for _, part := range []string{"not loaded in time", "deadline", "evicted since", "--context-cache-memory", "labelSelector"} {
		if !strings.Contains(told.Error(), part) {
			t.Errorf("%q is not in %v", part, told)
		}
	}
	w.shows(t, cachedEntries, late, contextcache.ReasonEvicted, "don't fit together")
	if result, err := cache.Query(t.Context(), count(late)); err != nil || result != 3.0 {
		t.Errorf("a query that has the time: %v, %v", result, err)
	}
}
