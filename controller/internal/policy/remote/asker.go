// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/docket-project/docket/controller/internal/policy"
)

// maxKnown is how many answers either side keeps, so that a large one that has not changed is not sent again.
const maxKnown = 64

// asker is the context cache of an engine: it has the controller answer.
type asker struct {
	mu   sync.Mutex
	last uint64
	// waiting are those who wait for an answer, by ID.
	waiting map[uint64]chan *Answer
	// queue and canceled were not handed out yet; wake has a value if there are any.
	queue    []Question
	canceled []uint64
	wake     chan struct{}
	// known has the *knownAnswer of queries.
	known *lru.Cache
}

// knownAnswer is a result that the engine keeps, under the tag that the controller has given it.
type knownAnswer struct {
	tag   uint64
	value any
}

func newAsker() *asker {
	return &asker{waiting: map[uint64]chan *Answer{}, wake: make(chan struct{}, 1), known: lru.New(maxKnown)}
}

// Query implements [policy.Entries].
func (a *asker) Query(ctx context.Context, query policy.Query) (any, error) {
	question := Question{Query: query}
	var known *knownAnswer
	if value, ok := a.known.Get(query); ok {
		known, _ = value.(*knownAnswer)
		question.Known = known.tag
	}
	if deadline, ok := ctx.Deadline(); ok {
		if question.Limit = time.Until(deadline); question.Limit <= 0 {
			return nil, context.DeadlineExceeded
		}
	}
	answered, id := a.ask(question)
	select {
	case answer := <-answered:
		return a.take(query, known, answer)
	case <-ctx.Done():
		a.cancel(id)
		return nil, context.Cause(ctx)
	}
}

func (a *asker) ask(question Question) (answered chan *Answer, id uint64) {
	answered = make(chan *Answer, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	question.ID = a.last
	a.waiting[question.ID] = answered
	a.queue = append(a.queue, question)
	a.signal()
	return answered, question.ID
}

func (a *asker) cancel(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
	a.canceled = append(a.canceled, id)
	a.signal()
}

// signal is called with the mutex.
func (a *asker) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *asker) take(query policy.Query, known *knownAnswer, answer *Answer) (any, error) {
	switch {
	case answer.Error != "":
		return nil, errors.New(answer.Error)
	case answer.Known && known != nil:
		return known.value, nil
	}
	var value any
	if err := json.Unmarshal(answer.Value, &value); err != nil {
		return nil, fmt.Errorf("decode the result of a query: %w", err)
	}
	if answer.Tag != 0 {
		a.known.Add(query, &knownAnswer{answer.Tag, value})
	}
	return value, nil
}

// next waits for queries.
func (a *asker) next(ctx context.Context, into *Asked) error {
	for {
		a.mu.Lock()
		into.Queries, into.Canceled = a.queue, a.canceled
		a.queue, a.canceled = nil, nil
		a.mu.Unlock()
		if len(into.Queries)+len(into.Canceled) > 0 {
			return nil
		}
		select {
		case <-a.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (a *asker) answer(answer *Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if answered := a.waiting[answer.ID]; answered != nil {
		answered <- answer
		delete(a.waiting, answer.ID)
	}
}
