// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broadcast

import "sync/atomic"

// Trigger wakes the goroutine that waits for it. However often it is fired before that goroutine looks,
// it wakes once. It can also say whether everything it was fired for has been dealt with.
type Trigger struct {
	channel        chan struct{}
	fired, handled atomic.Int64
}

// NewTrigger returns a trigger that has not been fired.
func NewTrigger() *Trigger { return &Trigger{channel: make(chan struct{}, 1)} }

// Fire wakes the goroutine. It never blocks.
func (t *Trigger) Fire() {
	t.fired.Add(1)
	select {
	case t.channel <- struct{}{}:
	default: // It has yet to look.
	}
}

// C is received from by the goroutine that is to be woken.
func (t *Trigger) C() <-chan struct{} { return t.channel }

// Fired returns how often the trigger was fired. Ask before looking at what may have changed.
func (t *Trigger) Fired() int64 { return t.fired.Load() }

// Handled notes that everything that Fired had counted is dealt with.
func (t *Trigger) Handled(fired int64) { t.handled.Store(fired) }

// Idle reports whether everything is dealt with.
func (t *Trigger) Idle() bool { return t.handled.Load() == t.fired.Load() }
