// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

var _ engine.Advancer = (*Engine)(nil)

// advanceSQL reaches one row by the primary key. The update waits for the commit
// under way.
const advanceSQL = `WITH advanced AS (
	UPDATE docket.revision SET revision = greatest($2::int8, revision + 1), compacted = greatest($2::int8, revision + 1),
		incarnation = greatest(incarnation + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::int8),
		committed_at = greatest(clock_timestamp(), committed_at), tidied = tidied + 1
	WHERE cluster = $1 RETURNING revision, compacted, incarnation
)
SELECT revision, compacted, incarnation, pg_notify('docket_' || $1::int4, revision::text)::text FROM advanced`

// Advance implements engine.Advancer. Compaction drops the events that are below
// the mark then.
func (e *Engine) Advance(ctx context.Context, to engine.Revision) (engine.State, error) {
	var state engine.State
	err := e.write(ctx, "advance the revision", func(ctx context.Context, conn *pgx.Conn) error {
		var notified string
		return noCounter(conn.QueryRow(ctx, advanceSQL, e.cluster, int64(to)).Scan(append(stateFields(&state), &notified)...))
	})
	if err != nil {
		return engine.State{}, err
	}
	e.sameIncarnation(state.Incarnation)
	e.note(state.Revision)
	e.signal() // The listener takes notifications of this process for no news.
	return state, nil
}
