// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// compactSlice is how many events one transaction deletes.
	compactSlice = 5_000
	// compactTimeout bounds one call of Compact. What is left goes with the next.
	compactTimeout = 5 * time.Minute

	// tidySlice is how many ids are looked at at once, and how many may go in one
	// transaction, which holds the counter. tidySlices bounds a call.
	tidySlice   = 1_000
	tidySlices  = 50
	tidyTimeout = time.Minute
)

// markSQL refuses reads below a revision. The update waits for the commit under
// way, and its condition is checked again after that.
const markSQL = `WITH marked AS (
	UPDATE docket.revision SET compacted = $2 WHERE cluster = $1 AND compacted < $2 AND revision >= $2 RETURNING 1
)
SELECT r.revision, EXISTS (SELECT FROM marked) FROM docket.revision r WHERE r.cluster = $1`

// Compact implements engine.Engine.
func (e *Engine) Compact(ctx context.Context, upTo engine.Revision) error {
	var revision engine.Revision
	var marked bool
	err := e.write(ctx, "compact", func(ctx context.Context, conn *pgx.Conn) error {
		return noCounter(conn.QueryRow(ctx, markSQL, e.cluster, int64(upTo)).Scan(&revision, &marked))
	})
	switch {
	case err != nil:
		return err
	case upTo > revision && !marked:
		return fmt.Errorf("compact up to %d: %w, the present one is %d", upTo, engine.ErrFuture, revision)
	case !marked:
		return nil
	}
	callCtx, done, err := e.begin(ctx, compactTimeout)
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	defer done()
	return e.fail(ctx, "compact", e.alone(callCtx, workCompact, func(conn *pgx.Conn) error {
		return dropEvents(callCtx, conn, e.cluster, int64(upTo))
	}))
}

// Each slice is a range of the primary key. It starts at the first event that is
// left: revisions leap after a failover.
const (
	firstEventSQL = `SELECT min(revision) FROM docket.event WHERE cluster = $1 AND revision > $2 AND revision <= $3`
	dropEventsSQL = `DELETE FROM docket.event WHERE cluster = $1 AND revision >= $2 AND revision <= $3`
)

func dropEvents(ctx context.Context, conn *pgx.Conn, cluster int32, upTo int64) error {
	for done := int64(0); done < upTo; {
		var first *int64
		if err := conn.QueryRow(ctx, firstEventSQL, cluster, done, upTo).Scan(&first); err != nil {
			return err
		}
		if first == nil {
			return nil
		}
		done = min(*first+compactSlice-1, upTo)
		if _, err := conn.Exec(ctx, dropEventsSQL, cluster, *first, done); err != nil {
			return err
		}
	}
	return nil
}

// horizonSQL finds the newest event beyond the limits by halving the history,
// since both time and running sum rise with the revision: one look-up by primary
// key for each step. A missing event counts as old.
const horizonSQL = `WITH RECURSIVE start AS (
	SELECT greatest(compacted, 1) AS compacted, revision, history_bytes FROM docket.revision WHERE cluster = @cluster
), search (low, high) AS (
	SELECT compacted, revision FROM start
	UNION ALL
	SELECT CASE WHEN m.old THEN m.middle ELSE s.low END, CASE WHEN m.old THEN s.high ELSE m.middle - 1 END
	FROM search s
	CROSS JOIN LATERAL (SELECT (s.low + s.high + 1) / 2 AS middle) h
	CROSS JOIN LATERAL (
		SELECT h.middle, coalesce((
			SELECT e.committed_at < statement_timestamp() - @keep::int8 * interval '1 microsecond'
				OR @bytes::int8 > 0 AND (SELECT history_bytes FROM start) - e.total_bytes
					+ coalesce(octet_length(e.previous_data), 0) > @bytes
			FROM docket.event e WHERE e.cluster = @cluster AND e.revision = h.middle
		), true) AS old
	) m
	WHERE s.low < s.high
)
SELECT r.revision, r.compacted, r.incarnation, CASE WHEN s.low > (SELECT compacted FROM start) THEN s.low ELSE 0 END
FROM docket.revision r CROSS JOIN (SELECT max(low) AS low FROM search) s WHERE r.cluster = @cluster`

// Horizon implements engine.Engine.
func (e *Engine) Horizon(ctx context.Context, keep time.Duration, maxBytes int64) (engine.Revision, error) {
	var horizon engine.Revision
	err := e.read(ctx, "find the horizon", func(ctx context.Context, conn *pgx.Conn) (engine.State, error) {
		var state engine.State
		err := conn.QueryRow(ctx, horizonSQL, pgx.NamedArgs{
			"cluster": e.cluster, "keep": keep.Microseconds(), "bytes": maxBytes,
		}).Scan(append(stateFields(&state), &horizon)...)
		return state, noCounter(err)
	})
	return horizon, err
}

// tidyCursors are where Tidy goes on, so that it comes round to everything.
type tidyCursors struct {
	verdict, subject int64
}

// What Tidy does with a table: a slice of ids with those that nothing refers to,
// and the deletion of some that nothing refers to still. References are looked up
// by the indexes result_verdict, report_verdicts, result_subject and report_scope.
const (
	// allowBitmaps lets the transaction use report_verdicts, which can be read in no
	// other way. What hides cluster from the planner keeps it from the primary key.
	allowBitmaps = `SELECT set_config('enable_bitmapscan', 'on', true)`

	idleVerdictsSQL = `WITH slice AS MATERIALIZED (
	SELECT id FROM docket.verdict WHERE cluster = $1 AND id > $2 ORDER BY id LIMIT $3
)
SELECT count(*), max(id), array_agg(id) FILTER (WHERE NOT EXISTS (
	SELECT FROM docket.result r WHERE r.cluster = $1 AND r.verdict = slice.id) AND NOT EXISTS (
	SELECT FROM docket.report p WHERE p.cluster + 0 = $1 AND p.verdicts @> ARRAY[slice.id]))
FROM slice`
	dropVerdictsSQL = `DELETE FROM docket.verdict v WHERE cluster = $1 AND id = ANY($2)
	AND NOT EXISTS (SELECT FROM docket.result r WHERE r.cluster = $1 AND r.verdict = v.id)
	AND NOT EXISTS (SELECT FROM docket.report p WHERE p.cluster + 0 = $1 AND p.verdicts @> ARRAY[v.id])`

	idleSubjectsSQL = `WITH slice AS MATERIALIZED (
	SELECT id FROM docket.subject WHERE cluster = $1 AND id > $2 ORDER BY id LIMIT $3
)
SELECT count(*), max(id), array_agg(id) FILTER (WHERE NOT EXISTS (
	SELECT FROM docket.result r WHERE r.cluster = $1 AND r.subject = slice.id) AND NOT EXISTS (
	SELECT FROM docket.report p WHERE p.cluster = $1 AND p.scope = slice.id))
FROM slice`
	dropSubjectsSQL = `DELETE FROM docket.subject s WHERE cluster = $1 AND id = ANY($2)
	AND NOT EXISTS (SELECT FROM docket.result r WHERE r.cluster = $1 AND r.subject = s.id)
	AND NOT EXISTS (SELECT FROM docket.report p WHERE p.cluster = $1 AND p.scope = s.id)`

	// countRemovalSQL voids what processes know to be there.
	countRemovalSQL = `UPDATE docket.revision SET tidied = tidied + 1 WHERE cluster = $1`
)

// Tidy implements engine.Engine. Space goes back to the file system by autovacuum.
func (e *Engine) Tidy(ctx context.Context) error {
	callCtx, done, err := e.begin(ctx, tidyTimeout)
	if err != nil {
		return fmt.Errorf("tidy: %w", err)
	}
	defer done()
	e.tidyMu.Lock()
	defer e.tidyMu.Unlock()
	return e.fail(ctx, "tidy", e.alone(callCtx, workTidy, func(conn *pgx.Conn) error {
		if err := e.tidyTable(callCtx, conn, &e.tidy.verdict, idleVerdictsSQL, dropVerdictsSQL); err != nil {
			return fmt.Errorf("verdicts: %w", err)
		}
		if err := e.tidyTable(callCtx, conn, &e.tidy.subject, idleSubjectsSQL, dropSubjectsSQL); err != nil {
			return fmt.Errorf("subjects: %w", err)
		}
		return nil
	}))
}

func (e *Engine) tidyTable(ctx context.Context, conn *pgx.Conn, cursor *int64, idleSQL, dropSQL string) error {
	for range tidySlices {
		var count int
		var last *int64
		var idle []int64
		var search pgx.Batch
		search.Queue(allowBitmaps)
		search.Queue(idleSQL, e.cluster, *cursor, tidySlice).QueryRow(func(row pgx.Row) error {
			return row.Scan(&count, &last, &idle)
		})
		if err := conn.SendBatch(ctx, &search).Close(); err != nil {
			return err
		}
		if len(idle) > 0 {
			// Under the counter no commit can be about to refer to them.
			var pipeline pgx.Batch
			pipeline.Queue(lockCounter, e.cluster)
			pipeline.Queue(allowBitmaps)
			pipeline.Queue(dropSQL, e.cluster, idle)
			pipeline.Queue(countRemovalSQL, e.cluster)
			if err := conn.SendBatch(ctx, &pipeline).Close(); err != nil {
				return err
			}
		}
		if count < tidySlice {
			*cursor = math.MinInt64
			return nil
		}
		*cursor = *last
	}
	return nil
}

// channel is where commits of a cluster are announced. applyOpsSQL makes the same name.
func channel(cluster int32) string { return fmt.Sprintf("docket_%d", cluster) }
