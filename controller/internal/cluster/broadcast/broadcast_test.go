// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broadcast

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func send(s *Signal[func()]) {
	for _, changed := range s.Subscribers() {
		changed()
	}
}

// TestSignal: subscribers are called in order, each as often as it subscribed, until it unsubscribes.
func TestSignal(t *testing.T) {
	t.Parallel()
	var s Signal[func()]
	send(&s)
	var got []string
	first := func() { got = append(got, "first") }
	one, another := s.Subscribe(first), s.Subscribe(first)
	second := s.Subscribe(func() { got = append(got, "second") })
	send(&s)
	one()
	one() // The second call does nothing.
	send(&s)
	another()
	second()
	send(&s)
	if want := []string{"first", "first", "second", "first", "second"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSignalHoldsNoLock: a subscriber may unsubscribe, and add another one, while it is called.
func TestSignalHoldsNoLock(t *testing.T) {
	t.Parallel()
	var s Signal[func()]
	calls := 0
	var unsubscribe func()
	unsubscribe = s.Subscribe(func() {
		calls++
		unsubscribe()
		s.Subscribe(func() { calls += 10 })
	})
	send(&s)
	send(&s)
	if calls != 11 {
		t.Errorf("%d, want one call of each", calls)
	}
}

func TestSignalOfManyGoroutines(t *testing.T) {
	t.Parallel()
	var s Signal[func()]
	var calls atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				unsubscribe := s.Subscribe(func() { calls.Add(1) })
				send(&s)
				unsubscribe()
			}
		})
	}
	group.Wait()
	if calls.Load() < 800 || len(s.Subscribers()) != 0 {
		t.Errorf("%d calls, %d subscribers left", calls.Load(), len(s.Subscribers()))
	}
}

// TestTrigger: it wakes once, and knows what has not been dealt with.
func TestTrigger(t *testing.T) {
	t.Parallel()
	trigger := NewTrigger()
	if !trigger.Idle() {
		t.Error("something is to be done at the start")
	}
	trigger.Fire()
	trigger.Fire()
	<-trigger.C()
	select {
	case <-trigger.C():
		t.Error("it wakes twice")
	default:
	}
	fired := trigger.Fired()
	if trigger.Idle() {
		t.Error("idle before anything was dealt with")
	}
	trigger.Fire()
	trigger.Handled(fired)
	if trigger.Idle() {
		t.Error("idle although it was fired meanwhile")
	}
	<-trigger.C()
	trigger.Handled(trigger.Fired())
	if !trigger.Idle() {
		t.Error("not idle although everything was dealt with")
	}
}
