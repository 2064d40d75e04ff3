// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// Migrate brings the schema up to date with migrations of a test.
func (e *Engine) Migrate(ctx context.Context, databaseURL string, files fs.FS) error {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return errors.Join(e.migrate(ctx, conn, config, files), conn.Close(ctx))
}

// Results implements enginetest.Results.
func (e *Engine) Results(ctx context.Context) ([]string, error) {
	return e.texts(ctx, enginetest.ResultsSQL, "docket.policy_results")
}

// Counts implements enginetest.Results.
func (e *Engine) Counts(ctx context.Context) ([]string, error) {
	var kept bool
	err := e.write(ctx, "read whether counters are kept", func(ctx context.Context, conn session) error {
		return conn.QueryRow(ctx, `SELECT tallied = 2 FROM docket.revision WHERE cluster = $1`, e.cluster).Scan(&kept)
	})
	if err == nil && !kept {
		err = errors.New("the counters are not kept")
	}
	if err != nil {
		return nil, err
	}
	return e.texts(ctx, enginetest.CountsSQL, "docket.policy_namespace_counts")
}

// texts reads a column of a view.
func (e *Engine) texts(ctx context.Context, format, view string) ([]string, error) {
	var results []string
	err := e.read(ctx, "read results", func(ctx context.Context, conn session) (engine.State, error) {
		rows, err := conn.Query(ctx, fmt.Sprintf(format, view, "docket.cluster", e.cluster))
		if err == nil {
			results, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return engine.State{Revision: engine.Revision(e.seen.Load()), Incarnation: engine.Incarnation(e.incarnation.Load())}, err
	})
	return results, err
}
