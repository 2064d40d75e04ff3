// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package turns_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/docket-project/docket/internal/results/turns"
)

// crowd takes turns, which end when the test says so.
type crowd struct {
	t     *testing.T
	queue *turns.Queue

	mu      sync.Mutex
	running map[string]func()
	order   []string
	group   sync.WaitGroup
}

// ask has somebody ask for a turn, in the name of the person whose name the first letter is.
func (c *crowd) ask(ctx context.Context, who string) {
	c.group.Go(func() {
		done, err := c.queue.Take(ctx, who[:1])
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				c.t.Errorf("%s: %v", who, err)
			}
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[who] = done
		c.order = append(c.order, who)
	})
	synctest.Wait()
}

// end ends a turn.
func (c *crowd) end(who string) {
	c.t.Helper()
	c.mu.Lock()
	done := c.running[who]
	delete(c.running, who)
	c.mu.Unlock()
	if done == nil {
		c.t.Fatalf("%s has no turn; these came: %s", who, c.order)
	}
	done()
	synctest.Wait()
}

// came fails unless turns came in an order.
func (c *crowd) came(want string) {
	c.t.Helper()
	if want := strings.Fields(want); !slices.Equal(c.order, want) {
		c.t.Errorf("turns came to %s, not %s", c.order, want)
	}
}

func test(t *testing.T, places, longest int, do func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{t: t, queue: turns.New(places, longest), running: map[string]func(){}}
		do(c)
		c.group.Wait()
	})
}

// TestTurnsGoRound: somebody who asks for 50 has one turn at a time, and who comes later is next.
func TestTurnsGoRound(t *testing.T) {
	t.Parallel()
	test(t, 2, 50, func(c *crowd) {
		for i := range 50 {
			c.ask(c.t.Context(), "a"+string(rune('0'+i)))
		}
		c.came("a0") // Though there is a second place.
		c.ask(c.t.Context(), "b0")
		c.ask(c.t.Context(), "b1")
		c.ask(c.t.Context(), "c0")
		c.came("a0 b0")
		c.end("a0") // a has waited longer, and had its turn.
		c.came("a0 b0 c0")
		c.end("b0")
		c.came("a0 b0 c0 a1")
		c.end("a1")
		c.came("a0 b0 c0 a1 b1")
		c.end("b1")
		c.end("c0")
		for i := 2; i < 50; i++ {
			c.end("a" + string(rune('0'+i)))
		}
	})
}

// TestQueueIsBounded: each queue is, and the queue of one person keeps nobody else out.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	test(t, 1, 2, func(c *crowd) {
		for _, who := range []string{"a0", "a1", "a2", "b0"} {
			c.ask(c.t.Context(), who)
		}
		if _, err := c.queue.Take(c.t.Context(), "a"); !errors.Is(err, turns.ErrFull) {
			c.t.Errorf("a third one waits: %v", err)
		}
		for _, who := range []string{"a0", "b0", "a1", "a2"} {
			c.end(who)
		}
	})
}

// TestWaitEnds: who goes while they wait leaves no trace, and keeps no turn.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	test(t, 1, 2, func(c *crowd) {
		ctx, cancel := context.WithCancel(c.t.Context())
		c.ask(c.t.Context(), "a0")
		c.ask(ctx, "a1")
		c.ask(ctx, "b0")
		c.ask(c.t.Context(), "b1")
		c.ask(c.t.Context(), "c0")
		cancel()
		synctest.Wait()
		c.end("a0")
		c.came("a0 b1")
		c.end("b1")
		c.end("c0")
		c.ask(c.t.Context(), "a2")
		c.came("a0 b1 c0 a2")
		c.end("a2")
	})
}
