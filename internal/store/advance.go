// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"

	"github.com/docket-project/docket/internal/store/engine"
)

// ErrCannotAdvance says that the engine's revisions can't be moved.
var ErrCannotAdvance = errors.New("the revisions of this database can't be moved ahead")

// Advance moves the revision to at least floor and drops all history before it, so
// that any watch that starts below answers 410 Expired, and those that run end with
// it. A client with a resource version of another store, which is lower than floor,
// thus learns that it has to list again, instead of waiting for a number that never
// comes. It returns the state after that.
func (s *Store) Advance(ctx context.Context, floor engine.Revision) (engine.State, error) {
	advancer, ok := s.engine.(engine.Advancer)
	if !ok {
		return engine.State{}, ErrCannotAdvance
	}
	state, err := advancer.Advance(ctx, floor)
	if err != nil {
		return engine.State{}, apiError("move the resource version ahead", err)
	}
	s.wake()
	return state, nil
}

const (
	// floorMargin is how far the floor is put above the revisions of another store,
	// which goes on counting until the last client has come over.
	floorMargin = 1_000_000_000
	// floorEnough is a margin with which a floor stays as it is.
	floorEnough = floorMargin / 10
)

// RaiseFloor makes sure that watches from any revision of another store, up to above
// and what it may still give out, end with 410 here. It returns the state after that,
// and whether revisions had to be moved, which force always does.
func (s *Store) RaiseFloor(ctx context.Context, above engine.Revision, force bool) (engine.State, bool, error) {
	state, err := s.State(ctx)
	if err != nil || !force && state.Compacted >= above+floorEnough {
		return state, false, err
	}
	state, err = s.Advance(ctx, above+floorMargin)
	return state, err == nil, err
}

// State returns the committed revisions.
func (s *Store) State(ctx context.Context) (engine.State, error) {
	state, err := s.engine.State(ctx)
	return state, apiError("read the resource version", err)
}
