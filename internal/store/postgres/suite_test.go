// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/postgres"
)

func TestMain(m *testing.M) {
	enginetest.Child(func(ctx context.Context, location, cluster string) (enginetest.Engine, error) {
		return postgres.Open(ctx, postgres.Options{URL: location, Cluster: cluster})
	})
	os.Exit(m.Run())
}

// open opens an engine that is closed when t ends.
func open(t testing.TB, url, cluster string) *postgres.Engine {
	t.Helper()
	e := testkit.Must(postgres.Open(t.Context(), postgres.Options{URL: url, Cluster: cluster, MaxConns: 4}))(t)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func TestSuite(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, enginetest.Target{
		Shared: true,
		New: func(t testing.TB) enginetest.Open {
			url := testenv.Postgres(t).Database(t)
			return func(t testing.TB, cluster string) enginetest.Engine { return open(t, url, cluster) }
		},
	})
}

func TestKill(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	enginetest.RunKill(t, url, func(t testing.TB, cluster string) enginetest.Engine { return open(t, url, cluster) })
}
