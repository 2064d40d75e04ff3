// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks the files of Docket, so that the database of another
// program is never taken for an empty one. See PRAGMA application_id.
const applicationID = 0x0d0c4e70

// checkOwner refuses the database of another program.
func (w *writer) checkOwner(path string) error {
	id, err := w.conn.pragmaNumber("PRAGMA application_id")
	if err != nil {
		return classify("open "+path, err)
	}
	if id == applicationID {
		return nil
	}
	tables, err := w.conn.number(context.Background(), "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return classify("open "+path, err)
	}
	if id != 0 || tables != 0 {
		return foreign(path)
	}
	_, err = w.conn.pragma(fmt.Sprintf("PRAGMA application_id = %d", applicationID))
	return classify("open "+path, err)
}

// migrate brings the schema up to date. One that is newer stays as it is: heed refuses what can't be used. The caller holds the file lock.
func migrate(ctx context.Context, path string, files fs.FS) (err error) {
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		return classify("open "+path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	sources := provider.ListSources()
	newest := sources[len(sources)-1].Version
	present, err := provider.GetDBVersion(ctx)
	if err != nil {
		return classify("read the schema version of "+path, err)
	}
	if present >= newest {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return classify("migrate "+path, err)
	}
	return nil
}

// isOurs refuses what is not a database of Docket.
func (w *writer) isOurs(path string) error {
	id, err := w.conn.pragmaNumber("PRAGMA application_id")
	if err != nil {
		return classify("open "+path, err)
	}
	if id != applicationID {
		return foreign(path)
	}
	return nil
}

func foreign(path string) error {
	return fmt.Errorf("open %s: it is the database of another program: give another path", path)
}

// schemaFiles are the embedded migrations.
func schemaFiles() fs.FS {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // Only an invalid constant name can do that.
	}
	return files
}
