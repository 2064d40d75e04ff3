// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// slowCompaction compacts until its context ends, and notes what else is done meanwhile.
type slowCompaction struct {
	engine.Engine
	did sync.Map
}

func (s *slowCompaction) Horizon(ctx context.Context, _ time.Duration, _ int64) (engine.Revision, error) {
	s.did.Clear() // What was done before says nothing.
	s.did.Store("compact", true)
	<-ctx.Done()
	return 0, ctx.Err()
}

func (s *slowCompaction) Expired(ctx context.Context, limit int) ([]engine.ResourceRow, error) {
	s.did.Store("expire", true)
	return s.Engine.Expired(ctx, limit)
}

func (s *slowCompaction) Tidy(ctx context.Context) error {
	s.did.Store("tidy", true)
	return s.Engine.Tidy(ctx)
}

func (s *slowCompaction) Usage(ctx context.Context) (engine.Usage, error) {
	s.did.Store("measure", true)
	return s.Engine.Usage(ctx)
}

// TestHousekeepingTakesItsTime: dropping history that takes long delays no other work.
func TestHousekeepingTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &slowCompaction{Engine: openModel(t)}
		newReportsWith(t, store.Options{Engine: e})
		time.Sleep(time.Hour) //nolint:forbidigo // In the time of the bubble.
		for _, what := range []string{"compact", "expire", "tidy", "measure"} {
			if _, done := e.did.Load(what); !done {
				t.Errorf("%s was not done in an hour, in which history was being dropped", what)
			}
		}
	})
}
