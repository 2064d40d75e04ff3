// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// TestUrgent: readers that take long keep nobody from the state, nor from the events that watches wait for.
func TestUrgent(t *testing.T) {
	t.Parallel()
	e := testkit.Must(sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"}))(t)
	t.Cleanup(func() { _ = e.Close() })
	release := e.HoldReaders()
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	if _, err := e.State(ctx); err != nil {
		t.Errorf("the state: %v", err)
	}
	if _, _, err := e.Events(engine.Urgent(ctx), 1, 10); err != nil {
		t.Errorf("events: %v", err)
	}
}

// TestShrinkIdle: connections give their memory back when nothing was asked of them for a while, and work on.
func TestShrinkIdle(t *testing.T) {
	t.Parallel()
	e := testkit.Must(sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"}))(t)
	t.Cleanup(func() { _ = e.Close() })
	for range 2 {
		if _, err := e.State(t.Context()); err != nil {
			t.Fatalf("the state: %v", err)
		}
		if e.ShrinkIdle() == 0 {
			t.Error("a connection that was just used has no statements")
		}
		if n := e.ShrinkIdle(); n != 0 {
			t.Errorf("idle connections keep %d statements", n)
		}
	}
}
