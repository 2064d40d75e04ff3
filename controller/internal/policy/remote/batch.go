// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

// limitSlack is how much later the process ends an evaluation than the one who waits for it.
const limitSlack = time.Second

// batch is the evaluation of policies for a subject.
type batch struct {
	engine   *Engine
	policies []*compiled
	subject  policy.Subject
	limit    time.Duration
	cancel   context.CancelFunc

	mu sync.Mutex
	// items are as many as policies. done is how many of them have their results.
	items []batchItem
	// progress is closed, and replaced, when items have changed.
	progress chan struct{}
	// waiting is the number of those who wait for items; ended is true if no others will.
	waiting int
	ended   bool
}

type batchItem struct {
	done    bool
	results []policy.Result
	err     error
}

// batchKey is that of the batch of an engine in a context.
type batchKey struct{ engine *Engine }

func preparedIn(ctx context.Context, engine *Engine) *batch {
	prepared, _ := ctx.Value(batchKey{engine}).(*batch)
	return prepared
}

// Batch implements [policy.Apart].
func (p *compiled) Batch(ctx context.Context, policies []policy.Policy, subject policy.Subject, limit time.Duration) (prepared context.Context, end func()) {
	group := make([]*compiled, 0, len(policies))
	for _, other := range policies {
		if own, ok := other.(*compiled); ok && own.engine == p.engine {
			group = append(group, own)
		}
	}
	b := p.engine.begin(ctx, group, subject, limit)
	return context.WithValue(ctx, batchKey{p.engine}, b), b.end
}

// begin begins to evaluate policies for a subject.
func (e *Engine) begin(ctx context.Context, policies []*compiled, subject policy.Subject, limit time.Duration) *batch {
	ctx, cancel := context.WithCancel(ctx)
	b := &batch{
		engine: e, policies: policies, subject: subject, limit: limit, cancel: cancel,
		items: make([]batchItem, len(policies)), progress: make(chan struct{}),
	}
	go func() {
		defer cancel()
		b.run(ctx)
	}()
	return b
}

// end says that nobody else will wait for items.
func (b *batch) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.waiting == 0 {
		b.cancel()
	}
}

// wait returns the results of a policy.
func (b *batch) wait(ctx context.Context, i int) ([]policy.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting++
	defer func() {
		if b.waiting--; b.waiting == 0 && b.ended {
			b.cancel()
		}
	}()
	for !b.items[i].done {
		progress := b.progress
		b.mu.Unlock()
		select {
		case <-progress:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ctx.Err() != nil && !b.items[i].done {
			return nil, ctx.Err()
		}
	}
	return b.items[i].results, b.items[i].err
}

// set sets the results of some items.
func (b *batch) set(change func(items []batchItem)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b.items)
	close(b.progress)
	b.progress = make(chan struct{})
}

// fail sets the error of all items that have no results.
func (b *batch) fail(indexes []int, err error) {
	var away *policy.AwayError
	b.set(func(items []batchItem) {
		for _, i := range indexes {
			switch {
			case items[i].done:
			case errors.Is(err, errSingledOut):
				items[i] = batchItem{done: true, results: errorResults(err)}
			case errors.As(err, &away):
				items[i] = batchItem{done: true, err: away}
			default:
				items[i] = batchItem{done: true, err: err}
			}
		}
	})
}

// run sets all items.
func (b *batch) run(ctx context.Context) {
	all := make([]int, len(b.policies))
	for i := range all {
		all[i] = i
	}
	subject, err := encodeSubject(b.subject)
	if err != nil {
		b.fail(all, err)
		return
	}
	s, err := b.engine.there()
	if err != nil {
		b.fail(all, err)
		return
	}
	ready := make([]int, 0, len(all))
	for _, i := range all {
		if err := b.policies[i].ensure(ctx, s); err != nil {
			b.fail([]int{i}, err)
			continue
		}
		ready = append(ready, i)
	}
	ready, suspected := b.sort(subject.Object, ready)
	if len(ready) > 0 {
		b.ask(ctx, s, &subject, ready, false)
	}
	for _, i := range suspected {
		b.ask(ctx, s, &subject, []int{i}, true)
	}
}

// sort keeps apart what may have ended the process before, and sets the results of what has.
func (b *batch) sort(object []byte, indexes []int) (ready, suspected []int) {
	if !b.engine.suspects.any() {
		return indexes, nil
	}
	hash := sha256.Sum256(object)
	for _, i := range indexes {
		switch suspicious, out := b.engine.suspects.known(b.who(i, hash)); {
		case out:
			b.fail([]int{i}, errSingledOut)
		case suspicious:
			suspected = append(suspected, i)
		default:
			ready = append(ready, i)
		}
	}
	return ready, suspected
}

func (b *batch) who(i int, object [sha256.Size]byte) suspect {
	return suspect{"Evaluate", b.policies[i].Fingerprint(), object}
}

// ask has the process evaluate policies, alone if they are suspected.
func (b *batch) ask(ctx context.Context, s *session, subject *Subject, indexes []int, suspected bool) {
	release, alone, err := s.slot(ctx, suspected)
	if err != nil {
		b.fail(indexes, err)
		return
	}
	defer release()
	err = b.exchange(ctx, s, subject, indexes)
	if err != nil && !ended(err) {
		b.fail(indexes, err)
		return
	}
	hash := [sha256.Size]byte{}
	if err != nil || alone {
		hash = sha256.Sum256(subject.Object)
	}
	for _, i := range b.unanswered(indexes) {
		b.fail([]int{i}, s.died(err, b.who(i, hash), alone))
	}
	if alone && err == nil {
		b.engine.suspects.survived(b.who(indexes[0], hash))
	}
}

func (b *batch) unanswered(indexes []int) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(indexes), func(i int) bool { return b.items[i].done })
}

// exchange sends an evaluation and takes all results.
func (b *batch) exchange(ctx context.Context, s *session, subject *Subject, indexes []int) error {
	question := &Evaluate{ID: b.engine.nextID(), Subject: *subject, Policies: make([]uint64, len(indexes))}
	if b.limit > 0 {
		question.Limit = b.limit + limitSlack
	}
	for at, i := range indexes {
		question.Policies[at] = b.policies[i].id
	}
	var answer Evaluated
	err := s.call(ctx, "Evaluate", question, &answer)
	for ; err == nil; err = s.call(ctx, "More", &More{question.ID}, &answer) {
		if err := b.take(indexes, answer.Items); err != nil {
			return err
		}
		if !answer.More {
			return nil
		}
		answer = Evaluated{}
	}
	if ctx.Err() != nil {
		s.cancel(question.ID)
	}
	return err
}

// take sets the items of an answer.
func (b *batch) take(indexes []int, answered []EvaluatedItem) error {
	for _, item := range answered {
		if item.Index < 0 || item.Index >= len(indexes) {
			return fmt.Errorf("the engine has answered what was not asked: %d", item.Index)
		}
	}
	b.set(func(items []batchItem) {
		for _, item := range answered {
			result := batchItem{done: true, results: item.Results}
			if item.Error != "" {
				result.err = errorOf(item.Error)
			}
			items[indexes[item.Index]] = result
		}
	})
	return nil
}
