// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// believable is how far above the present revision a client's may be, to be taken for one that was given out here
// and lost: what ten thousand changes a second make in three years. It keeps a made-up number from using up all others.
const believable = 1_000_000_000_000

// checkGivenOut returns ErrCompacted for a revision that was not given out, as far as the database knows. A client has
// it all the same, if the database was put back by means that Docket does not see: a snapshot of the disk, with all
// files on it. Its numbers would be given out a second time, for other changes, of which the client would miss those up
// to its own. Whoever comes first with such a number has all of them leaped over.
func (s *Store) checkGivenOut(ctx context.Context, revision engine.Revision) error {
	if revision <= s.hub.State().Revision {
		return nil
	}
	state, err := s.engine.State(ctx) // Another replica may have given it out.
	if err != nil || revision <= state.Revision {
		return err
	}
	s.leapOver(ctx, revision, state.Revision)
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
