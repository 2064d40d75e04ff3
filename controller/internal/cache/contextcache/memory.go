// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// tooLargePause is how long data that don't fit are left alone: loading them costs the API
	// server and us, and mostly ends as before.
	tooLargePause = 10 * time.Minute
	// The pause before data are loaded again that had to be evicted soon after they were loaded
	// the last time. It doubles each time, so that entries that don't fit together don't drive
	// out each other all the time.
	minEvictedPause, maxEvictedPause = 5 * time.Second, 5 * time.Minute
)

// enforce keeps the data within the memory limit: it frees computed values first, then the data that
// were not used for the longest time. Of lists that are being loaded, the loaded part counts.
func (c *Cache) enforce(ctx context.Context) {
	now := c.config.Clock.Now()
	for _, d := range c.datasets {
		if d.missed.Load() && d.state.Load().phase == evicted {
			c.reload(ctx, d, now)
		}
	}
	limit := c.config.MemoryLimit
	if limit == 0 || c.bytes() <= limit {
		return
	}
	for _, d := range c.datasets {
		if s := d.state.Load(); s.data != nil {
			s.data.Shrink()
		}
	}
	for _, d := range c.datasets {
		if size := d.bytes(); size > limit {
			d.retryAt = now.Add(tooLargePause)
			d.drop(tooLarge, fmt.Errorf("too large: it takes %d bytes or more, and all entries together may take %d: raise --context-cache-memory, or limit the entry; "+
				"retried after %s", size, limit, d.retryAt.UTC().Format(time.RFC3339)))
			c.config.Metrics.failures.WithLabelValues(reasonTooLarge).Inc()
		}
	}
	byUse := slices.SortedFunc(maps.Values(c.datasets), func(a, b *dataset) int { return int(a.used.Load() - b.used.Load()) })
	for _, d := range byUse {
		if c.bytes() <= limit {
			return
		}
		if d.bytes() > 0 {
			c.evict(d, now)
		}
	}
}

// bytes is the memory that all data take.
func (c *Cache) bytes() int64 {
	var sum int64
	for _, d := range c.datasets {
		sum += d.bytes()
	}
	return sum
}

func (c *Cache) evict(d *dataset, now time.Time) {
	size := d.bytes()
	// The first time there is no pause.
	d.retryAt = now.Add(d.pause)
	next := "it is loaded again when it is asked for, and waited for"
	if d.pause > 0 {
		next = fmt.Sprintf("it was evicted before, soon after it was loaded: the entries in use don't fit together, so that it is not loaded again before %s; "+
			"raise the limit, or have the entries keep less (namespace, labelSelector, filter)", d.retryAt.UTC().Format(time.RFC3339))
	}
	d.pause = min(max(2*d.pause, minEvictedPause), maxEvictedPause)
	d.drop(evicted, fmt.Errorf("evicted since %s: all entries together may take the %d bytes of --context-cache-memory, of which this one took %d, and it was not used for the longest time; %s",
		now.UTC().Format(time.RFC3339), c.config.MemoryLimit, size, next))
	c.config.Metrics.evictions.Inc()
}

// reload loads data again that were asked for, unless that would only drive out others once more.
func (c *Cache) reload(ctx context.Context, d *dataset, now time.Time) {
	if now.Before(d.retryAt) {
		return
	}
	if now.Sub(d.retryAt) > maxEvictedPause {
		d.pause = 0 // It is long ago.
	}
	d.start(ctx)
}
