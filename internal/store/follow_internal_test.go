// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"testing"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// countedEvents counts the events that are read.
type countedEvents struct {
	engine.Engine
	read int
}

func (c *countedEvents) Events(ctx context.Context, after engine.Revision, limit int) ([]engine.Event, engine.State, error) {
	events, state, err := c.Engine.Events(ctx, after, limit)
	c.read += len(events)
	return events, state, err
}

// TestOwnCommitsAreNotRead: of the changes of two processes only those of the other one are read from the database.
func TestOwnCommitsAreNotRead(t *testing.T) {
	t.Parallel()
	counted := &countedEvents{Engine: enginetest.NewModel(clock.RealClock{}.Now)}
	s := testkit.Must(New(t.Context(), Options{Engine: counted}))(t)
	commit := func(key string) engine.State {
		t.Helper()
		batch := testkit.Must(counted.Commit(t.Context(), []engine.Op{{Kind: engine.Create, Resource: "/reports/", Key: key}}))(t)
		return batch.State
	}
	const each = 5
	var last engine.State
	for range each {
		other := commit("other" + string(rune('a'+int(last.Revision))))
		last = commit("own" + string(rune('a'+int(other.Revision))))
		own, _ := testkit.Must2(counted.Engine.Events(t.Context(), other.Revision, 1))(t)
		s.feed(own, last)
	}
	testkit.NoError(t, s.catchUp(t.Context()))
	if now := s.hub.State().Revision; counted.read != each || now != last.Revision {
		t.Errorf("read %d events up to revision %d, want %d up to %d", counted.read, now, each, last.Revision)
	}
}
