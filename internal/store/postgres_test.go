// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
	"github.com/docket-project/docket/internal/store/storetest"
)

func openPostgres(t testing.TB) engine.Engine {
	t.Helper()
	return openReplica(t, testenv.Postgres(t).Database(t))
}

func openReplica(t testing.TB, url string) engine.Engine {
	t.Helper()
	e := testkit.Must(postgres.Open(context.Background(), postgres.Options{URL: url, Cluster: "test"}))(t)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestPostgres(t *testing.T)             { storetest.Run(t, openPostgres) }
func TestPostgresDifferential(t *testing.T) { differential(t, openPostgres) }

// Guarantees S1 to S4 with three replicas that are killed, and whose
// connections are cut.
func TestPostgresVersions(t *testing.T) {
	t.Parallel()
	storetest.Versions(t, openPostgres)
}

func TestPostgresReplicas(t *testing.T) {
	url := testenv.Postgres(t).Database(t)
	openReplica(t, url) // creates the tables
	storetest.Replicas(t, storetest.Chaos{
		Open: func() (engine.Engine, error) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			return postgres.Open(ctx, postgres.Options{URL: url, Cluster: "test"})
		},
		Disturb:  func() { cutConnections(t, url) },
		Replicas: 3,
		Duration: 10 * time.Second,
		Seed:     1,
	})
}

// cutConnections ends all connections to the database but its own.
func cutConnections(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Errorf("connect to cut connections: %v", err)
		return
	}
	defer func() { _ = conn.Close(ctx) }()
	const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	if _, err := conn.Exec(ctx, cut); err != nil {
		t.Errorf("cut connections: %v", err)
	}
}
