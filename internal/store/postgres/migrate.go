// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/docket-project/docket/internal/store/engine"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// schemaFiles are the embedded migrations.
func schemaFiles() fs.FS {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // Only an invalid constant name can do that.
	}
	return files
}

// versionTable is where goose notes which migrations were applied.
const versionTable = "docket.migration"

// migrate brings the schema up to date, or refuses, if it has to exist, one that is missing. One that is newer
// than this program stays as it is: askDemands refuses what can't be used. Any number of processes may do
// so at the same time: one works, the others wait.
func (e *Engine) migrate(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, files fs.FS) error {
	db := stdlib.OpenDB(*config.Copy())
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	sources := provider.ListSources()
	newest := sources[len(sources)-1].Version
	version, err := schemaVersion(ctx, conn)
	switch {
	case err != nil:
		return fmt.Errorf("read the version of the schema: %w", err)
	case version == 0 && e.options.Existing:
		return fmt.Errorf("%w: it has no schema docket", engine.ErrMissing)
	case version >= newest:
		return nil // Needs no more rights than to read and write.
	case version > 0:
		e.log.Warn("the schema of the database is brought up to date, which takes minutes if it is large", "from", version, "to", newest)
	}
	return lockSchema(ctx, conn, func() error {
		if err := makeSchema(ctx, db); err != nil {
			return err
		}
		_, err := provider.Up(ctx)
		switch {
		case hasState(err, statePrivilege):
			return fmt.Errorf("migrate the schema: %w; let the role that owns the schema docket run this version once", err)
		case err != nil:
			return fmt.Errorf("migrate the schema: %w", err)
		}
		return nil
	})
}

// lockSchema lets one process work on the schema at a time. The lock is a transaction's, over a connection of its own:
// the work has several transactions, and a pooler may give each of them another session.
func lockSchema(ctx context.Context, conn *pgx.Conn, work func() error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, $2)`, lockSpace, schemaNumber); err != nil {
			return err
		}
		return work()
	})
}

// schemaVersion returns the newest migration that was applied; 0 for none.
func schemaVersion(ctx context.Context, conn *pgx.Conn) (int64, error) {
	var exists bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (
		SELECT FROM pg_tables WHERE schemaname = 'docket' AND tablename = 'migration')`).Scan(&exists)
	if err != nil || !exists {
		return 0, err
	}
	var version int64
	err = conn.QueryRow(ctx,
		`SELECT coalesce(max(version_id), 0) FROM docket.migration WHERE is_applied`).Scan(&version)
	return version, err
}

// makeSchema makes the schema where it is missing. An administrator may have made it for a role that may not.
func makeSchema(ctx context.Context, db *sql.DB) error {
	var exists bool
	err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'docket')`).Scan(&exists)
	if err == nil && !exists {
		_, err = db.ExecContext(ctx, `CREATE SCHEMA docket`)
	}
	if hasState(err, statePrivilege) {
		return fmt.Errorf("make the schema docket: %w; grant the role CREATE on the database, or make the schema for it "+
			"with CREATE SCHEMA docket AUTHORIZATION", err)
	}
	if err != nil {
		return fmt.Errorf("make the schema docket: %w", err)
	}
	return nil
}
