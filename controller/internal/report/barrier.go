// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
)

// Barrier returns when the server has all that the layout says now, or does not take it: a report
// that is refused is retried, but not waited for. Its error is that of ctx. It writes nothing
// itself: [Writer.Run] has to run.
func (w *Writer) Barrier(ctx context.Context) error {
	open, news := w.unwritten()
	for len(open) > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d reports are not written yet: %w", len(open), ctx.Err())
		case <-news:
		}
		news = w.stillOpen(open)
	}
	return nil
}

// unwritten returns the generations that are to be written, and a channel that is closed when that
// changes.
func (w *Writer) unwritten() (map[*entry]uint64, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.absorb()
	open := map[*entry]uint64{}
	for _, e := range w.entries {
		if e.generation > e.written {
			open[e] = e.generation
		}
	}
	w.closeLocked(open)
	return open, w.news
}

// stillOpen removes from open what is written by now.
func (w *Writer) stillOpen(open map[*entry]uint64) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeLocked(open)
	return w.news
}

// closeLocked is called with w.mu.
func (w *Writer) closeLocked(open map[*entry]uint64) {
	for e, generation := range open {
		refused := e.failures > 0 && !e.busy
		if e.written >= generation || refused || w.entries[e.key] != e {
			delete(open, e)
		}
	}
}
