// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const (
	// grownSQL finds tables that were empty when PostgreSQL last looked, and no longer are. Those that it never looked
	// at (reltuples is -1) it takes for small, and gets them right. Only the owner of a table can analyze it.
	grownSQL = `SELECT c.relname FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.relnamespace = 'docket'::regnamespace AND c.relkind = 'r' AND c.reltuples = 0 AND s.n_live_tup >= 100
	AND pg_has_role(c.relowner, 'USAGE')`

	// analyzeSQL takes a table of this schema.
	analyzeSQL = `ANALYZE docket.%s`
)

// Analyze implements engine.Engine. A plan that was made when statistics said that a table is empty may read any index
// that begins or ends with the cluster, and all of it; sessions keep their plans. After VACUUM or ANALYZE of an empty
// database, or when all reports were deleted, a commit of 128 reports took 1.5 s at 8,000 reports, until autovacuum
// came to look. New statistics make all sessions plan again.
func (e *Engine) Analyze(ctx context.Context) error {
	callCtx, done, err := e.begin(ctx, tidyTimeout)
	if err != nil {
		return fmt.Errorf("look at grown tables: %w", err)
	}
	defer done()
	_, err = e.alone(callCtx, workTidy, func(tx pgx.Tx) error {
		rows, err := tx.Query(callCtx, grownSQL)
		if err != nil {
			return err
		}
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, table := range tables {
			if _, err := tx.Exec(callCtx, fmt.Sprintf(analyzeSQL, pgx.Identifier{table}.Sanitize())); err != nil {
				return err
			}
		}
		return nil
	})
	return e.fail(ctx, "look at grown tables", err)
}
