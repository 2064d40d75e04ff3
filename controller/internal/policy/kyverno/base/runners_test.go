// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRunnersAreUsedAgain: work goes to a goroutine that waits, not to one that has something to do; those that wait
// for long end, or the bubble would not.
func TestRunnersAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &Runners{}
		started, served, hold := 0, 0, make(chan struct{})
		serve := func() { served++ }
		r.run(serve)
		synctest.Wait()
		for range 10 {
			select {
			case r.idle <- serve:
			default:
				started++
			}
			synctest.Wait()
		}
		if started > 0 || served != 11 {
			t.Errorf("%d of %d were not taken by the goroutine that waits", started, served)
		}
		r.run(func() { <-hold })
		synctest.Wait()
		r.run(serve)
		synctest.Wait()
		if served != 12 {
			t.Error("work waits for another one")
		}
		close(hold)
		time.Sleep(2 * RunnerPatience) //nolint:forbidigo // The clock of the bubble.
		select {
		case r.idle <- serve:
			t.Error("a goroutine waits for ever")
		default:
		}
	})
}
