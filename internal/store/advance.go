// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// ErrCannotAdvance says that the engine's revisions can't be moved.
var ErrCannotAdvance = errors.New("the revisions of this database can't be moved ahead")

// Advance moves the revision to at least floor and drops all history before it, so that any watch that starts below
// answers 410 Expired, and those that run end with it. A client with a resource version of another store, which is
// lower than floor, thus learns that it has to list again, instead of waiting for a number that never comes. It returns
// the state after that.
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

// RaiseFloor makes sure that watches from any revision of another store, up to above and what it may still give out,
// end with 410 here. It returns the state after that, and whether revisions had to be moved, which force always does.
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

// believable is how far above the present revision a client's may be, to be taken for one that was given out here
// and lost: what ten thousand changes a second make in three years. It keeps a made-up number from using up all others.
const believable = 1_000_000_000_000

const (
	// futureWait is how long a watch waits for a revision that was not given out yet, as long as kube-apiserver's.
	futureWait = 3 * time.Second
	// futureInterval is how often such a watch looks for it, in memory.
	futureInterval = 100 * time.Millisecond
)

// await returns the present revision: at once if it is at least the wanted one, else when that is given out or the
// client has waited long enough.
func (s *Store) await(ctx context.Context, wanted engine.Revision) (engine.Revision, error) {
	state, err := s.engine.State(ctx) // Another replica may have given it out.
	if err != nil || wanted <= state.Revision {
		return state.Revision, err
	}
	for began := s.options.Clock.Now(); s.hub.State().Revision < wanted && s.options.Clock.Since(began) < futureWait; {
		if !s.pause(ctx, futureInterval) {
			return 0, ctx.Err()
		}
	}
	state, err = s.engine.State(ctx)
	return state.Revision, err
}

// checkGivenOut returns ErrCompacted for a revision that was not given out, as far as the database knows. A client has
// it all the same, if the database was put back by means that Docket does not see: a snapshot of the disk, with all
// files on it. Its numbers would be given out a second time, for other changes, of which the client would miss those up
// to its own. The first client with such a number makes the revisions leap over all of them.
func (s *Store) checkGivenOut(ctx context.Context, revision engine.Revision) error {
	if revision <= s.hub.State().Revision {
		return nil
	}
	present, err := s.await(ctx, revision)
	if err != nil || revision <= present {
		return err
	}
	s.leapOver(ctx, revision, present)
	return engine.ErrCompacted
}

// leapOver moves the revisions ahead, once in the life of a process: a database is put back before its servers
// start. Nobody can end the watches of others again and again by numbers that they make up.
func (s *Store) leapOver(ctx context.Context, revision, present engine.Revision) {
	if revision-present > believable || !s.leapt.CompareAndSwap(false, true) {
		return
	}
	state, err := s.Advance(ctx, revision+floorMargin)
	if err != nil {
		s.leapt.Store(false)
		klog.ErrorS(err, "A client has a resource version that this database never gave out, and the versions could not be moved ahead of it",
			"resourceVersion", revision, "present", present)
		return
	}
	klog.InfoS("A client has a resource version that this database never gave out. Either the database was restored from a backup that is older than this version, or the client watched the CRD that Docket replaced. The versions move ahead, and all clients list again",
		"resourceVersion", revision, "before", present, "now", state.Revision)
}
