// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/sqlite"
)

func TestMain(m *testing.M) {
	enginetest.Child(func(ctx context.Context, location, cluster string) (enginetest.Engine, error) {
		return sqlite.Open(ctx, sqlite.Options{Path: location, Cluster: cluster})
	})
	os.Exit(m.Run())
}

// TestEngine runs the suite that all engines pass.
func TestEngine(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, target)
}

// TestNothingLate runs the suite with all results entered into the index of verdicts after each commit: otherwise most
// are late.
func TestNothingLate(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	enginetest.Run(t, enginetest.Target{New: func(t testing.TB) enginetest.Open {
		path := filepath.Join(t.TempDir(), "docket.db")
		return func(t testing.TB, cluster string) enginetest.Engine {
			t.Helper()
			return entering{open(t, sqlite.Options{Path: path, Cluster: cluster})}
		}
	}})
}

// entering is an engine without late results.
type entering struct{ *sqlite.Engine }

func (e entering) Commit(ctx context.Context, ops []engine.Op) (engine.Batch, error) {
	batch, err := e.Engine.Commit(ctx, ops)
	if err == nil {
		err = e.EnterLate(context.WithoutCancel(ctx))
	}
	return batch, err
}

// TestLargeReports runs the suite with each report taken for a large one.
func TestLargeReports(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, enginetest.Target{New: func(t testing.TB) enginetest.Open {
		path := filepath.Join(t.TempDir(), "docket.db")
		return func(t testing.TB, cluster string) enginetest.Engine {
			t.Helper()
			e := open(t, sqlite.Options{Path: path, Cluster: cluster})
			e.SetLargeReport(2, 2, 9)
			return e
		}
	}})
}

// target makes databases in files of their own.
var target = enginetest.Target{New: func(t testing.TB) enginetest.Open {
	return openAt(filepath.Join(t.TempDir(), "docket.db"))
}}

// FuzzRandom compares the engine with the model on calls that follow from a
// seed.
func FuzzRandom(f *testing.F) {
	f.Add(uint64(100), uint8(50))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) { enginetest.RunRandom(t, target, seed, int(steps)) })
}

func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "docket.db")
	enginetest.RunKill(t, path, openAt(path))
}

// openAt opens engines on one file.
func openAt(path string) enginetest.Open {
	return func(t testing.TB, cluster string) enginetest.Engine {
		t.Helper()
		return open(t, sqlite.Options{Path: path, Cluster: cluster})
	}
}

// open opens an engine that is closed at the end of the test.
func open(t testing.TB, options sqlite.Options) *sqlite.Engine {
	t.Helper()
	e := testkit.Must(sqlite.Open(t.Context(), options))(t)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}
