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

	"github.com/docket-project/docket/internal/store/engine"
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

// migrate brings the schema up to date. One that is newer stays as it is: heed refuses what can't be used. The caller
// holds the file lock.
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

// Statements about formats, by the primary key of revision, except the ones about a file that is not open yet.
const (
	selectDemands = "SELECT min_reader, min_writer FROM revision WHERE cluster = ?"
	raiseReader   = "UPDATE revision SET min_reader = ?2 WHERE cluster = ?1 AND min_reader < ?2 AND min_writer <= ?2"
	hasDemands    = "SELECT count(*) FROM pragma_table_info('revision') WHERE name = 'min_reader'"
	maxDemand     = "SELECT coalesce(max(min_reader), 0) FROM revision"
)

// heed refuses a cluster that this program can't read, and notes whether it may write it and that it does. Nobody else
// uses the file.
func (e *Engine) heed(c *conn) error {
	var demands engine.Demands
	_, err := c.one(into(&demands.Reader, &demands.Writer), selectDemands, e.cluster)
	if err == nil {
		err = demands.Readable()
	}
	if err != nil {
		return err
	}
	e.demands = demands
	_, err = c.exec(raiseReader, e.cluster, int64(engine.WritesFormat))
	e.demands.Reader = max(demands.Reader, engine.WritesFormat)
	return err
}

// readable refuses a file of which this program can't read all.
func readable(ctx context.Context, c *conn, path string) error {
	var demands engine.Demands
	there, err := c.number(ctx, hasDemands)
	if err == nil && there > 0 {
		var reader int64
		reader, err = c.number(ctx, maxDemand)
		demands.Reader = engine.Format(reader)
	}
	if err != nil {
		return classify("read the format of "+path, err)
	}
	if err := demands.Readable(); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return nil
}

// Beat implements engine.Engine: the lock keeps other processes out.
func (e *Engine) Beat(ctx context.Context, _ engine.Derivation, _ engine.Revision) (engine.Fleet, error) {
	return engine.Fleet{Replicas: 1, Leads: true, Demands: e.demands}, e.usable(ctx)
}
