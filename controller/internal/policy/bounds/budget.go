// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

const (
	// small is what any evaluation may have read without waiting for its turn, in bytes of [Cost].
	small = 1 << 20
	// medium is what several evaluations may have read at one time, and mediumTurns how many.
	medium, mediumTurns = 4 << 20, 2
	// Largest is what one evaluation may have read at all; only one at a time has more than medium.
	Largest = 48 << 20
)

// Error says which bound does not let an answer in.
type Error struct{ text string }

// Error implements error.
func (e *Error) Error() string { return e.text }

// errBusy is the bound of all evaluations together.
var errBusy = &Error{"there was no time left after other evaluations that read as much: let it ask for less"}

// Busy reports whether an error is about other evaluations: later there may be room.
func Busy(err error) bool { return errors.Is(err, errBusy) }

// Exceeded reports whether an error is about a bound.
func Exceeded(err error) bool {
	var bound *Error
	return errors.As(err, &bound)
}

// Budget is what the evaluations of a process may have read at one time. The zero Budget is good.
type Budget struct {
	once         sync.Once
	medium, only chan struct{}
}

// Open returns a context with the account of a new evaluation, which has to be closed when nothing of it is left.
func (b *Budget) Open(ctx context.Context) (context.Context, *Account) {
	b.once.Do(func() { b.medium, b.only = make(chan struct{}, mediumTurns), make(chan struct{}, 1) })
	a := &Account{budget: b}
	return context.WithValue(ctx, accountKey{}, a), a
}

var errEnded = errors.New("the evaluation has ended")

type accountKey struct{}

// accountOf returns the account of a context, or nil.
func accountOf(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}

// Account is what one evaluation has read. It is safe for concurrent use.
type Account struct {
	budget *Budget

	mu   sync.Mutex
	used int64
	// hasMedium and hasOnly tell which turns it has. They are taken in this order, so that no two evaluations wait for
	// each other.
	hasMedium, hasOnly bool
	// closed lets nobody take a turn that would never be given back.
	closed bool
}

// Close gives back the turns.
func (a *Account) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hasMedium {
		<-a.budget.medium
	}
	if a.hasOnly {
		<-a.budget.only
	}
	a.hasMedium, a.hasOnly, a.closed = false, false, true
}

// Take counts bytes for the evaluation of a context, if it has an account, and waits for its turn where they are many.
func Take(ctx context.Context, bytes int64) error {
	a := accountOf(ctx)
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return errEnded
	}
	if a.used+bytes > Largest {
		return &Error{fmt.Sprintf("all that the evaluation has read takes more than %d MiB once it is decoded: let it ask for less", Largest>>20)}
	}
	if a.used+bytes > small && !a.hasMedium {
		if err := turn(ctx, a.budget.medium); err != nil {
			return err
		}
		a.hasMedium = true
	}
	if a.used+bytes > medium && !a.hasOnly {
		if err := turn(ctx, a.budget.only); err != nil {
			return err
		}
		a.hasOnly = true
	}
	a.used += bytes
	return nil
}

func turn(ctx context.Context, turns chan struct{}) error {
	select {
	case turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errBusy
	}
}
