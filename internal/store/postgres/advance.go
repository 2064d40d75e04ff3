// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/docket-project/docket/internal/store/engine"
)

var _ engine.Advancer = (*Engine)(nil)

// advanceSQL reaches one row by the primary key. The update waits for the commit
// under way.
const advanceSQL = `WITH advanced AS (
	UPDATE docket.revision SET revision = greatest($2::int8, revision + 1), compacted = greatest($2::int8, revision + 1),
		incarnation = greatest(incarnation + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::int8),
		committed_at = ` + commitTime + `, tidied = tidied + 1,
		gap_after = 0, gap_to = 0, gap_before = 0
	WHERE cluster = $1 RETURNING *
)
SELECT ` + stateColumns + `, pg_notify('docket_' || $1::int4, r.revision::text)::text FROM advanced r`

// Advance implements engine.Advancer. Compaction drops the events that are below
// the mark then.
func (e *Engine) Advance(ctx context.Context, to engine.Revision) (engine.State, error) {
	var state engine.State
	err := e.write(ctx, "advance the revision", func(ctx context.Context, conn session) error {
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
