// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"path/filepath"
	"testing"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/sqlite"
	"github.com/docket-project/docket/internal/store/storetest"
)

func openModel(testing.TB) engine.Engine { return enginetest.NewModel(clock.RealClock{}.Now) }

func openSQLite(t testing.TB) engine.Engine {
	t.Helper()
	e := testkit.Must(sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "test"}))(t)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestModel(t *testing.T) {
	testkit.Full(t)
	storetest.Run(t, openModel)
}

func TestSQLite(t *testing.T) { storetest.Run(t, openSQLite) }

func TestModelDifferential(t *testing.T) {
	testkit.Full(t)
	differential(t, openModel)
}

func TestSQLiteDifferential(t *testing.T) { differential(t, openSQLite) }

func TestModelVersions(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	storetest.Versions(t, openModel)
}

func TestSQLiteVersions(t *testing.T) {
	t.Parallel()
	storetest.Versions(t, openSQLite)
}

func differential(t *testing.T, open storetest.Open) {
	t.Helper()
	for seed := range uint64(3) {
		storetest.Differential(t, open, seed, 300)
	}
}
