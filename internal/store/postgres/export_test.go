// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// Results implements enginetest.Results.
func (e *Engine) Results(ctx context.Context) ([]string, error) {
	var results []string
	err := e.read(ctx, "read results", func(ctx context.Context, conn session) (engine.State, error) {
		rows, err := conn.Query(ctx, fmt.Sprintf(enginetest.ResultsSQL, "docket.policy_results", "docket.cluster", e.cluster))
		if err == nil {
			results, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return engine.State{Revision: engine.Revision(e.seen.Load()), Incarnation: engine.Incarnation(e.incarnation.Load())}, err
	})
	return results, err
}
