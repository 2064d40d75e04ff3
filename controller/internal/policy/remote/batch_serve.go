// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// turn is how long one policy of a batch may take before the next one begins beside it. It is less than the
	// patience of those who wait for it.
	turn = 50 * time.Millisecond
	// flush is how long results wait for others of their batch.
	flush = 20 * time.Millisecond
)

// running is an [Evaluate] that is not answered completely.
type running struct {
	mu sync.Mutex
	// ready are results that were not handed out yet, left is the number of those that are still to come.
	ready []EvaluatedItem
	left  int
	// added has a value when there is something in ready.
	added chan struct{}
}

// Evaluate evaluates policies one after the other, beside each other if they are slow. It returns what there is
// after a short time.
func (s *service) Evaluate(of *Evaluate, into *Evaluated) error {
	subject, err := of.Subject.decode()
	if err != nil {
		return err
	}
	policies := make([]policy.Policy, len(of.Policies))
	for i, id := range of.Policies {
		if policies[i], err = s.policy(id); err != nil {
			return err
		}
	}
	ctx, end := s.begin(of.ID)
	batch := &running{left: len(policies), added: make(chan struct{}, 1)}
	go func() {
		defer end()
		batch.run(ctx, policies, subject, of.Limit)
		if ctx.Err() != nil {
			s.drop(of.ID) // Nobody asks for more.
		}
	}()
	return s.collect(of.ID, batch, into)
}

// More returns further results.
func (s *service) More(of *More, into *Evaluated) error {
	s.mu.Lock()
	batch := s.batches[of.ID]
	s.mu.Unlock()
	if batch == nil {
		return fmt.Errorf("the engine has no evaluation %d", of.ID)
	}
	return s.collect(of.ID, batch, into)
}

// collect waits for results: for all, or for a short time after the first ones.
func (s *service) collect(id uint64, batch *running, into *Evaluated) error {
	timer := time.NewTimer(flush)
	defer timer.Stop()
	for late := false; ; {
		into.Items, into.More = batch.take(late)
		if !into.More || len(into.Items) > 0 {
			break
		}
		select {
		case <-batch.added:
		case <-timer.C:
			late = true
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if into.More {
		s.batches[id] = batch
	} else {
		delete(s.batches, id)
	}
	return nil
}

func (s *service) drop(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.batches, id)
}

// take returns what is ready if it is all, or if it is late; more reports whether there will be others.
func (r *running) take(late bool) (items []EvaluatedItem, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left > 0 && !late {
		return nil, true
	}
	items, r.ready = r.ready, nil
	return items, r.left > 0
}

func (r *running) add(item EvaluatedItem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = append(r.ready, item)
	r.left--
	select {
	case r.added <- struct{}{}:
	default:
	}
}

// run returns when all policies are evaluated. A policy that takes more than its turn goes on in the goroutine
// that has begun it, and another one does the rest.
func (r *running) run(ctx context.Context, policies []policy.Policy, subject policy.Subject, limit time.Duration) {
	var all sync.WaitGroup
	defer all.Wait()
	next := 0
	for next < len(policies) {
		// Each worker tells how far it is, so that it can be replaced.
		w := &worker{from: next, ended: make(chan struct{})}
		all.Go(func() {
			defer close(w.ended)
			for i := w.from; i < len(policies) && w.begin(i); i++ {
				r.add(evaluate(ctx, policies[i], i, subject, limit))
			}
		})
		next = w.follow(len(policies))
	}
}

// worker evaluates the policies of a batch, from one on.
type worker struct {
	from  int
	ended chan struct{}

	mu sync.Mutex
	// at is the policy that it evaluates, since a time.
	at    int
	since time.Time
	// replaced is true if another worker does what comes after at.
	replaced bool
}

// begin reports whether the worker is to evaluate a policy.
func (w *worker) begin(i int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.replaced {
		return false
	}
	w.at, w.since = i, time.Now()
	return true
}

// follow returns when the worker has ended or takes too long, and what is to be done by another one.
func (w *worker) follow(count int) (next int) {
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for {
		select {
		case <-w.ended:
			return count
		case <-ticker.C:
			if next := w.replace(); next > 0 {
				return next
			}
		}
	}
}

// replace returns what comes after the policy that takes too long; 0 if none does.
func (w *worker) replace() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || time.Since(w.since) < turn {
		return 0
	}
	w.replaced = true
	return w.at + 1
}

func evaluate(ctx context.Context, p policy.Policy, index int, subject policy.Subject, limit time.Duration) (item EvaluatedItem) {
	defer func() {
		if cause := recover(); cause != nil {
			item = EvaluatedItem{Index: index, Error: fmt.Sprintf("the evaluation has panicked: %v\n%s", cause, debug.Stack())}
		}
	}()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	results, err := p.Evaluate(ctx, subject)
	return EvaluatedItem{Index: index, Results: results, Error: textOf(err)}
}
