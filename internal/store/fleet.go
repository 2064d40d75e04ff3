// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// beatInterval is how often a process says that it lives: a few times in the minute that one counts.
const beatInterval = 10 * time.Second

var errOutdated = errors.New("the database has a format that this version of Docket can't read: upgrade Docket")

// beat tells other processes on the cluster that this one lives, and what it reads.
func (s *Store) beat(ctx context.Context) (engine.Fleet, error) {
	fleet, err := s.engine.Beat(ctx, s.options.Derivation, s.readers.lowest())
	s.outdated.Store(errors.Is(err, engine.ErrSchema))
	if err == nil {
		s.needed.Store(int64(fleet.Needs))
		observeFleet(fleet)
	}
	return fleet, err
}

func (s *Store) live(ctx context.Context) error {
	_, err := s.beat(ctx)
	return err
}
