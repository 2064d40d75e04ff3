// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package turns has people take turns at work of which a server can do little at a time: one turn for each person at
// any moment, and a queue for each person, so that who asks for much waits for themselves and nobody else does.
package turns

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrFull says that a person has as many requests waiting as a person may have.
var ErrFull = errors.New("the queue is full")

// Queue gives turns: to people one after the other, and to each in the order in which they asked. It is safe for
// concurrent use.
type Queue struct {
	longest int

	mu     sync.Mutex
	free   int
	people map[string]*person
	// next are those who wait and have no turn. The first one is next.
	next []*person
}

// person has a turn or waits for one.
type person struct {
	busy    bool
	waiting []chan struct{}
}

// New returns a queue that gives some turns at a time. Each person can wait for at most longest of them.
func New(places, longest int) *Queue {
	return &Queue{free: places, longest: longest, people: map[string]*person{}}
}

// Take waits for a turn, which is given back with done. It returns ErrFull if the person's queue is full, and the
// cause when the context ends before.
func (q *Queue) Take(ctx context.Context, name string) (done func(), err error) {
	turn, err := q.join(name)
	if err != nil {
		return nil, err
	}
	select {
	case <-turn:
		return func() { q.leave(name, turn) }, nil
	case <-ctx.Done():
		q.leave(name, turn)
		return nil, context.Cause(ctx)
	}
}

// join returns what is closed when a turn has come.
func (q *Queue) join(name string) (turn chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.people[name]
	if p == nil {
		p = &person{}
		q.people[name] = p
	}
	if len(p.waiting) == q.longest {
		return nil, ErrFull
	}
	turn = make(chan struct{})
	p.waiting = append(p.waiting, turn)
	if !p.busy && len(p.waiting) == 1 {
		q.next = append(q.next, p)
	}
	q.give()
	return turn, nil
}

// give gives the turns that are free.
func (q *Queue) give() {
	for q.free > 0 && len(q.next) > 0 {
		p := q.next[0]
		close(p.waiting[0])
		q.free--
		p.busy, p.waiting, q.next = true, p.waiting[1:], q.next[1:]
	}
}

// leave ends a turn, or the wait for it.
func (q *Queue) leave(name string, turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.people[name]
	if i := slices.Index(p.waiting, turn); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else {
		q.free++
		p.busy = false
		if len(p.waiting) > 0 {
			q.next = append(q.next, p)
		}
	}
	if !p.busy && len(p.waiting) == 0 {
		delete(q.people, name)
		q.next = slices.DeleteFunc(q.next, func(other *person) bool { return other == p })
	}
	q.give()
}
