// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
)

// Barrier waits until the server has everything that the layout says now. It does not wait for reports that
// the server refuses, which are retried later. It fails only if ctx is done. It writes nothing itself:
// [Writer.Run] must be running.
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

// unwritten returns the reports that are to be written, with their generations, and a channel that is closed
// when that may have changed.
func (w *Writer) unwritten() (map[*reportState]uint64, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drainChanges()
	open := map[*reportState]uint64{}
	for _, rs := range w.reports {
		if rs.generation > rs.written {
			open[rs] = rs.generation
		}
	}
	w.closeLocked(open)
	return open, w.planChanged
}

// stillOpen removes from open what has been written.
func (w *Writer) stillOpen(open map[*reportState]uint64) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeLocked(open)
	return w.planChanged
}

// closeLocked removes from open what has been written or is refused. It is called with w.mu.
func (w *Writer) closeLocked(open map[*reportState]uint64) {
	for rs, generation := range open {
		refused := rs.failures > 0 && !rs.busy
		if rs.written >= generation || refused || w.reports[rs.key] != rs {
			delete(open, rs)
		}
	}
}
