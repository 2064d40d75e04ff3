// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// slowCompaction compacts until its context ends, and tells what else is done.
type slowCompaction struct {
	engine.Engine
	did chan string
}

func (s *slowCompaction) tell(what string) {
	select {
	case s.did <- what:
	default:
	}
}

func (s *slowCompaction) Horizon(ctx context.Context, _ time.Duration, _ int64) (engine.Revision, error) {
	s.tell("compact")
	<-ctx.Done()
	return 0, ctx.Err()
}

func (s *slowCompaction) Expired(ctx context.Context, limit int) ([]engine.ResourceRow, error) {
	s.tell("expire")
	return s.Engine.Expired(ctx, limit)
}

func (s *slowCompaction) Tidy(ctx context.Context) error {
	s.tell("tidy")
	return s.Engine.Tidy(ctx)
}

func (s *slowCompaction) Usage(ctx context.Context) (engine.Usage, error) {
	s.tell("measure")
	return s.Engine.Usage(ctx)
}

// TestHousekeepingTakesItsTime: dropping history that takes long delays no other work.
func TestHousekeepingTakesItsTime(t *testing.T) {
	t.Parallel()
	e := &slowCompaction{Engine: openModel(t), did: make(chan string, 100)}
	clock := clocktesting.NewFakeClock(time.Now())
	r := newReportsWith(t, store.Options{Engine: e, Clock: clock})
	r.awaitReady(t)
	deadline := time.After(20 * time.Second)
	step := func() {
		clock.Step(time.Minute)
		<-time.After(time.Millisecond)
	}
	for compacting := false; !compacting; {
		step()
		select {
		case what := <-e.did:
			compacting = what == "compact"
		case <-deadline:
			t.Fatal("never compacted")
		default:
		}
	}
	for missing := map[string]bool{"expire": true, "tidy": true, "measure": true}; len(missing) > 0; {
		step()
		select {
		case what := <-e.did:
			delete(missing, what)
		case <-deadline:
			t.Fatalf("while history was dropped, this was not done: %v", missing)
		default:
		}
	}
}
