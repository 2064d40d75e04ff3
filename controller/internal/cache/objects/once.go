// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Once remembers the answers to questions. The same question at the same time is asked once. The zero Once remembers
// nothing yet.
type Once[K comparable, V any] struct {
	mu      sync.Mutex
	answers map[K]*answer[V]
}

type answer[V any] struct {
	// lock, of the weight 1, guards the fields below. Its holder asks.
	lock  *semaphore.Weighted
	known bool
	value V
	err   error
}

// Get returns the answer to a question, for which ask is called once. A failure for lack of time is not final: the next
// call asks again.
func (o *Once[K, V]) Get(ctx context.Context, question K, ask func(context.Context) (V, error)) (V, error) {
	o.mu.Lock()
	if o.answers == nil {
		o.answers = map[K]*answer[V]{}
	}
	a := o.answers[question]
	if a == nil {
		a = &answer[V]{lock: semaphore.NewWeighted(1)}
		o.answers[question] = a
	}
	o.mu.Unlock()
	if a.lock.Acquire(ctx, 1) != nil {
		var none V
		return none, context.Cause(ctx)
	}
	defer a.lock.Release(1)
	if !a.known {
		a.value, a.err = ask(ctx)
		a.known = a.err == nil || ctx.Err() == nil
	}
	return a.value, a.err
}

// Forget drops all answers.
func (o *Once[K, V]) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers = nil
}
