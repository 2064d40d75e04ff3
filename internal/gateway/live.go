// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"sync"
)

// live knows the streams that are under way, so that they end with the server: nobody
// else would end them.
type live struct {
	mu      sync.Mutex
	ended   bool
	next    int
	cancels map[int]context.CancelFunc
}

func newLive() *live { return &live{cancels: map[int]context.CancelFunc{}} }

// add returns a context that ends with ctx and with end. done is to be called when the
// stream is over.
func (l *live) add(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		cancel()
	}
	id := l.next
	l.next++
	l.cancels[id] = cancel
	return ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.cancels, id)
		cancel()
	}
}

// end ends all streams, and those that come later at once.
func (l *live) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, cancel := range l.cancels {
		cancel()
	}
}

func (l *live) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}
