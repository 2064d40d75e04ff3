// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"testing"

	"k8s.io/utils/clock"

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
	s, err := New(t.Context(), Options{Engine: counted})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(key string) engine.State {
		t.Helper()
		batch, err := counted.Commit(t.Context(), []engine.Op{{Kind: engine.Create, Resource: "/reports/", Key: key}})
		if err != nil {
			t.Fatal(err)
		}
		return batch.State
	}
	const each = 5
	var last engine.State
	for range each {
		other := commit("other" + string(rune('a'+int(last.Revision))))
		last = commit("own" + string(rune('a'+int(other.Revision))))
		own, _, err := counted.Engine.Events(t.Context(), other.Revision, 1)
		if err != nil {
			t.Fatal(err)
		}
		s.feed(own, last)
	}
	if err := s.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := s.hub.State().Revision; counted.read != each || now != last.Revision {
		t.Errorf("read %d events up to revision %d, want %d up to %d", counted.read, now, each, last.Revision)
	}
}
