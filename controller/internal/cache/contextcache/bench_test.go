// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// BenchmarkRepeatedQuery is a query whose result is known.
func BenchmarkRepeatedQuery(b *testing.B) {
	w := newWorld(b)
	for i := range 20 {
		w.configMap(b, fmt.Sprint("m", i), map[string]any{"k": "v"})
	}
	id := w.entry(b, cachedEntries, "e", w.maps("configmaps"))
	cache := w.cache(b, func(c *contextcache.Config) { c.MemoryLimit = 1 << 30 })
	q := policy.Query{Entry: id, Alias: "maps", Expression: "maps.items[].data.k"}
	testkit.Must(query(b, cache, q))(b)
	times := make([]time.Duration, 0, b.N)
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		testkit.Must(cache.Query(b.Context(), q))(b)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
}
