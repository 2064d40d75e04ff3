// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/hub"
)

// BenchmarkAppend measures what an event costs the feed of the hub, with watchers of the same keys that have not read
// since they were last woken.
func BenchmarkAppend(b *testing.B) {
	forSizes(b, func(b *testing.B, watchers, batch int) {
		h := hub.New[decoded](1<<20, state(0))
		for range watchers {
			b.Cleanup(h.Subscribe(reports, "").Stop)
		}
		b.ResetTimer()
		feed(b, h, batch, func(engine.Revision) {})
	})
}

// BenchmarkDeliver is what an event costs altogether: each batch is read by all watchers before the next one.
func BenchmarkDeliver(b *testing.B) {
	forSizes(b, func(b *testing.B, watchers, batch int) {
		h := hub.New[decoded](1<<20, state(0))
		var running, reading sync.WaitGroup
		stop := make(chan struct{})
		for range watchers {
			s := h.Subscribe(reports, "")
			running.Go(func() {
				defer s.Stop()
				follow(s, stop, reading.Done)
			})
		}
		reading.Add(watchers)
		b.ResetTimer()
		feed(b, h, batch, func(engine.Revision) {
			reading.Wait()
			reading.Add(watchers)
		})
		b.StopTimer()
		close(stop)
		running.Wait()
	})
}

func forSizes(b *testing.B, run func(b *testing.B, watchers, batch int)) {
	b.Helper()
	for _, watchers := range []int{100, 1000, 10000} {
		for _, batch := range []int{1, 128} {
			b.Run(fmt.Sprintf("watchers=%d/batch=%d", watchers, batch), func(b *testing.B) { run(b, watchers, batch) })
		}
	}
}

// feed appends b.N events in batches.
func feed(b *testing.B, h *hub.Hub[decoded], batch int, appended func(last engine.Revision)) {
	b.Helper()
	for last := engine.Revision(0); int(last) < b.N; {
		events := make([]*hub.Entry[decoded], min(batch, b.N-int(last)))
		for i := range events {
			last++
			events[i] = entry(last, "namespace/name")
		}
		if !h.Append(events, state(last)) {
			b.Fatal("the hub refuses events")
		}
		appended(last)
	}
}

// follow reads what there is, and calls read each time that it has read something, until stop is closed.
func follow(s *hub.Subscription[decoded], stop <-chan struct{}, read func()) {
	buffer := make([]*hub.Entry[decoded], 0, 100)
	after := engine.Revision(0)
	for {
		signal := s.Signal()
		for {
			entries, next, _ := s.Read(after, buffer[:0], cap(buffer))
			if next == after {
				break
			}
			after = next
			if len(entries) < cap(buffer) {
				read()
			}
		}
		select {
		case <-signal:
		case <-stop:
			return
		}
	}
}
