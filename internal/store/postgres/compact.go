// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// compactSlice is how many events one transaction deletes.
	compactSlice = 5_000
	// compactTimeout bounds one call of Compact. The next call drops the rest.
	compactTimeout = 5 * time.Minute
)

// markSQL refuses reads below a revision. The update waits for the commit under
// way, and its condition is checked again after that.
const markSQL = `WITH marked AS (
	UPDATE docket.revision SET compacted = $2 WHERE cluster = $1 AND compacted < $2 AND revision >= $2 RETURNING 1
)
SELECT r.revision, EXISTS (SELECT FROM marked) FROM ` + newestCounter + ` r`

// Compact implements engine.Engine.
func (e *Engine) Compact(ctx context.Context, upTo engine.Revision) error {
	var revision engine.Revision
	var marked bool
	err := e.write(ctx, "compact", func(ctx context.Context, conn session) error {
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
	return e.fail(ctx, "compact", e.dropEvents(callCtx, int64(upTo)))
}

// Each slice is a range of the primary key. It starts at the first event that is left: revisions leap after a failover.
const (
	firstEventSQL = `SELECT min(revision) FROM docket.event WHERE cluster = $1 AND revision > $2 AND revision <= $3`
	dropEventsSQL = `DELETE FROM docket.event WHERE cluster = $1 AND revision >= $2 AND revision <= $3`
)

// dropEvents drops events slice by slice, and gives the connection back after each: other housekeeping has its turn.
func (e *Engine) dropEvents(ctx context.Context, upTo int64) error {
	for done := int64(0); done < upTo; {
		next := upTo // Unless nobody else is at it, and there is more.
		_, err := e.alone(ctx, workCompact, func(tx pgx.Tx) (err error) {
			next, err = dropSlice(ctx, tx, e.cluster, done, upTo)
			return err
		})
		if err != nil {
			return err
		}
		done = next
	}
	return nil
}

// dropSlice drops the oldest events, and returns the revision up to which none are left.
func dropSlice(ctx context.Context, conn session, cluster int32, done, upTo int64) (int64, error) {
	var first *int64
	if err := conn.QueryRow(ctx, firstEventSQL, cluster, done, upTo).Scan(&first); err != nil {
		return done, err
	}
	if first == nil {
		return upTo, nil
	}
	last := min(*first+compactSlice-1, upTo)
	_, err := conn.Exec(ctx, dropEventsSQL, cluster, *first, last)
	return last, err
}

// horizonSQL finds the newest event beyond the limits by halving the history, since both time and running sum rise with
// the revision: one look-up by primary key for each step. A missing event counts as old, and one that was left out as
// the one before the gap.
const horizonSQL = `WITH RECURSIVE start AS (
	SELECT greatest(compacted, 1) AS compacted, revision, history_bytes, gap_after, gap_to FROM ` + namedCounter + ` r
), search (low, high) AS (
	SELECT compacted, revision FROM start
	UNION ALL
	SELECT CASE WHEN m.old THEN m.middle ELSE s.low END, CASE WHEN m.old THEN s.high ELSE m.middle - 1 END
	FROM search s
	CROSS JOIN LATERAL (SELECT (s.low + s.high + 1) / 2 AS middle) h
	CROSS JOIN LATERAL (
		SELECT CASE WHEN h.middle > t.gap_after AND h.middle <= t.gap_to THEN t.gap_after ELSE h.middle END AS revision FROM start t
	) g
	CROSS JOIN LATERAL (
		SELECT h.middle, coalesce((
			SELECT e.committed_at < statement_timestamp() - @keep::int8 * interval '1 microsecond'
				OR @bytes::int8 > 0 AND (SELECT history_bytes FROM start) - e.total_bytes
					+ octet_length(e.key) + coalesce(octet_length(e.previous_data), 0) + ` + eventOverhead + ` > @bytes
			FROM docket.event e WHERE e.cluster = @cluster AND e.revision = g.revision
		), true) AS old
	) m
	WHERE s.low < s.high
)
SELECT ` + stateColumns + `, CASE WHEN s.low > (SELECT compacted FROM start) THEN s.low ELSE 0 END
FROM ` + namedCounter + ` r CROSS JOIN (SELECT max(low) AS low FROM search) s`

// Horizon implements engine.Engine.
func (e *Engine) Horizon(ctx context.Context, keep time.Duration, maxBytes int64) (engine.Revision, error) {
	var horizon engine.Revision
	err := e.read(ctx, "find the horizon", func(ctx context.Context, conn session) (engine.State, error) {
		var state engine.State
		err := conn.QueryRow(ctx, horizonSQL, pgx.NamedArgs{
			"cluster": e.cluster, "keep": keep.Microseconds(), "bytes": maxBytes,
		}).Scan(append(stateFields(&state), &horizon)...)
		return state, noCounter(err)
	})
	return horizon, err
}

// channel is where commits of a cluster are announced. applyOpsSQL makes the same name.
func channel(cluster int32) string { return fmt.Sprintf("docket_%d", cluster) }

// Advisory locks are pairs of numbers. The first says that a lock is Docket's, the second names its subject: the
// schema, or one kind of work on a cluster. They end with a transaction: a session may be somebody else's after it.
const (
	lockSpace    int32 = 0x646f636b // "dock"
	schemaNumber int32 = 0
	tryNumber    int32 = -1 // Of no work: see checkLocks.

	// work on cluster N has the number workKinds*N + kind; ids start at 1.
	workKinds         int32 = 4
	workCompact       int32 = 1
	workTidy          int32 = 2
	maxLockableNumber       = 1<<31 - 1
)

// alone does work in a transaction while no other process does work of that kind on the cluster,
// and nothing when another one does.
func (e *Engine) alone(ctx context.Context, kind int32, work func(tx pgx.Tx) error) (done bool, err error) {
	if err := e.writable(); err != nil {
		return false, err
	}
	err = e.chores.AcquireFunc(ctx, func(pooled *pgxpool.Conn) error {
		return e.inTransaction(ctx, pooled.Conn(), e.writerSettings(), func(tx pgx.Tx) error {
			number := int32((int64(e.cluster)*int64(workKinds) + int64(kind)) % maxLockableNumber)
			if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, $2)`, lockSpace, number).Scan(&done); err != nil || !done {
				return err
			}
			return work(tx)
		})
	})
	return done, err
}
