// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Results are counted by namespace and by what their verdicts have in common (docs/adr/0030-counters.md). A commit
// appends to tally_change how many reports more, or fewer, have which verdicts; housekeeping moves that to tally, and
// the view adds both. Rows that people write by SQL void the counters, by a trigger, in the same
// transaction: the view counts everything then, until housekeeping has rebuilt the counters.

const (
	// tallySetting tells the trigger that a session keeps the counters.
	tallySetting, tallyKept = "docket.tally", "kept"

	// tallySlice is how many rows of tally_change are moved in one transaction.
	tallySlice = 50_000
	// tallyTimeout bounds a call of Tally, which may have to count everything.
	tallyTimeout = time.Hour
)

// Values of revision.tallied.
const (
	tallyVoid   = 0
	tallyMaking = 1 // Commits keep account; what there was before is to be counted.
	tallyIsKept = 2
)

// tallyCTE is the part of deriveCTEs that keeps the counters. Reports of a namespace with the same verdicts, which most
// are, make one row together; a report whose verdicts stay the same makes none. Rows of result are gathered for each
// report, by its number: the row without a verdict knows where it is. Most commits have none.
const tallyCTE = `changed_tally AS (
	INSERT INTO docket.tally_change (cluster, namespace, kind, verdicts, times)
	SELECT @cluster, namespace, kind, verdicts, sum(times) FROM (
		SELECT namespace, kind, verdicts, 1 AS times FROM added_reports
		UNION ALL SELECT namespace, kind, verdicts, -1 FROM old_reports
		UNION ALL SELECT max(namespace), max(kind), array_agg(verdict ORDER BY verdict) FILTER (WHERE verdict IS NOT NULL), times FROM (
			SELECT object, namespace, kind, NULL::int8 AS verdict, 1 AS times FROM added_reports
			UNION ALL SELECT object, NULL, NULL, verdict, 1 FROM added_results
			UNION ALL SELECT object, namespace, kind, NULL, -1 FROM old_reports
			UNION ALL SELECT object, NULL, NULL, verdict, -1 FROM dropped_results
		) r WHERE EXISTS (SELECT FROM added_results) OR EXISTS (SELECT FROM dropped_results) GROUP BY object, times
	) c WHERE verdicts IS NOT NULL AND (SELECT tallied FROM counter) > 0
	GROUP BY namespace, kind, verdicts HAVING sum(times) <> 0
)`

// addCountsCTEs add counts(namespace, kind, verdict, results) to tally.
const addCountsCTEs = `named AS MATERIALIZED (
	SELECT g.*, docket.identity(source, policy, rule, category, severity, result, scored::int4::text) AS outcome
	FROM (
		SELECT c.namespace, c.kind, v.source, v.policy, v.rule, v.category, v.severity, v.result, v.scored, sum(c.results)::int8 AS results
		FROM counts c JOIN docket.verdict v ON v.cluster = $1 AND v.id = c.verdict
		GROUP BY c.namespace, c.kind, v.source, v.policy, v.rule, v.category, v.severity, v.result, v.scored
		HAVING sum(c.results) <> 0
	) g
), added_outcomes AS (
	INSERT INTO docket.outcome (cluster, id, source, policy, rule, category, severity, result, scored)
	SELECT DISTINCT $1::int4, outcome, source, policy, rule, category, severity, result, scored FROM named
	ON CONFLICT DO NOTHING
), added_tally AS (
	INSERT INTO docket.tally AS t (cluster, outcome, namespace, kind, results)
	SELECT $1, outcome, namespace, kind, results FROM named
	ON CONFLICT (outcome, namespace, kind, cluster) DO UPDATE SET results = t.results + excluded.results
)`

const (
	// moveTallySQL moves at most $2 rows of tally_change, and returns how many. Commits go on meanwhile: what they
	// append is not seen, and stays.
	moveTallySQL = `WITH taken AS (
	DELETE FROM docket.tally_change
	WHERE ctid = ANY (ARRAY(SELECT ctid FROM docket.tally_change WHERE cluster = $1 LIMIT $2::int8))
	RETURNING namespace, kind, verdicts, times
), counts AS MATERIALIZED (
	SELECT namespace, kind, verdict, sum(times) AS results FROM taken CROSS JOIN LATERAL unnest(verdicts) AS verdict
	GROUP BY namespace, kind, verdict HAVING sum(times) <> 0
), ` + addCountsCTEs + `
SELECT count(*) FROM taken`

	tallyStateSQL = `SELECT tallied FROM ` + newestCounter + ` r`

	dropChangesSQL = `DELETE FROM docket.tally_change WHERE cluster = $1`
	dropTallySQL   = `DELETE FROM docket.tally WHERE cluster = $1`
	beginTallySQL  = `UPDATE docket.revision SET tallied = 1 WHERE cluster = $1`
	// Only if nobody voided what was counted.
	finishTallySQL = `UPDATE docket.revision SET tallied = 2 WHERE cluster = $1 AND tallied = 1`

	// countAllSQL counts all reports of its snapshot, to which the changes that are there have led.
	countAllSQL = `WITH led AS (
	DELETE FROM docket.tally_change WHERE cluster = $1
), counts AS MATERIALIZED (
	SELECT namespace, kind, verdict, count(*) AS results
	FROM docket.report CROSS JOIN LATERAL unnest(verdicts) AS verdict
	WHERE cluster = $1 GROUP BY namespace, kind, verdict
	UNION ALL
	SELECT p.namespace, p.kind, r.verdict, count(*)
	FROM docket.result r JOIN docket.report p ON p.cluster = r.cluster AND p.object = r.object
	WHERE r.cluster = $1 GROUP BY p.namespace, p.kind, r.verdict
), ` + addCountsCTEs + `
SELECT count(*) FROM named`

	// countSettings are for one statement that reads everything, and must not be given up at its end.
	countSettings = `SELECT set_config(s.name, s.value, true) FROM (VALUES ('enable_seqscan', 'on'), ('enable_hashjoin', 'on'),
	('statement_timeout', '0'), ('lock_timeout', '60s'), ('plan_cache_mode', 'force_custom_plan')) AS s(name, value)`

	dropEmptySQL = `DELETE FROM docket.tally WHERE cluster = $1 AND results = 0`
	// Where outcomes are added, so are the counters that refer to them, and nobody else does that meanwhile.
	dropOutcomesSQL = `DELETE FROM docket.outcome o WHERE cluster = $1
	AND NOT EXISTS (SELECT FROM docket.tally t WHERE t.cluster = $1 AND t.outcome = o.id)`
)

// errVoided says that somebody voided the counters while they were made.
var errVoided = errors.New("the counters were invalidated")

// Tally implements engine.Engine.
func (e *Engine) Tally(ctx context.Context) error {
	callCtx, done, err := e.begin(ctx, tallyTimeout)
	if err != nil {
		return fmt.Errorf("count results: %w", err)
	}
	defer done()
	for more := true; more && err == nil; {
		more = false // Unless nobody else is at it, and there is more.
		_, err = e.alone(callCtx, workTidy, func(tx pgx.Tx) (err error) {
			more, err = e.tally(callCtx, tx)
			return err
		})
	}
	if errors.Is(err, errVoided) {
		return nil
	}
	return e.fail(ctx, "count results", err)
}

// tally does what is to be done next, and reports whether there is more.
func (e *Engine) tally(ctx context.Context, tx pgx.Tx) (more bool, err error) {
	var state int
	if err := tx.QueryRow(ctx, tallyStateSQL, e.cluster).Scan(&state); err != nil {
		return false, noCounter(err)
	}
	switch {
	case state == tallyIsKept:
		moved, err := e.moveTally(ctx, tx, tallySlice)
		return moved == tallySlice, err
	case state == tallyMaking:
		return false, e.countAll(ctx, tx)
	default:
		return true, e.underCounter(ctx, tx, func(pipeline *pgx.Batch) {
			pipeline.Queue(dropChangesSQL, e.cluster)
			pipeline.Queue(beginTallySQL, e.cluster)
		})
	}
}

func (e *Engine) moveTally(ctx context.Context, tx pgx.Tx, most int64) (moved int64, err error) {
	err = tx.QueryRow(ctx, moveTallySQL, e.cluster, most).Scan(&moved)
	return moved, err
}

// countAll makes the counters from all reports, while commits go on: they began to append changes before.
func (e *Engine) countAll(ctx context.Context, tx pgx.Tx) error {
	started := time.Now()
	e.log.Info("all results are counted")
	var counters int64
	var batch pgx.Batch
	batch.Queue(countSettings)
	batch.Queue(dropTallySQL, e.cluster)
	batch.Queue(countAllSQL, e.cluster).QueryRow(func(row pgx.Row) error { return row.Scan(&counters) })
	batch.Queue(finishTallySQL, e.cluster).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() == 0 {
			return errVoided
		}
		return nil
	})
	err := tx.SendBatch(ctx, &batch).Close()
	e.log.Info("all results were counted", "counters", counters, "seconds", time.Since(started).Seconds(), "err", err)
	return err
}

// counters removes counters that are zero, and outcomes without counters.
func (t *tidier) counters(ctx context.Context) error {
	return t.slice(ctx, func(tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue(dropEmptySQL, t.engine.cluster)
		batch.Queue(dropOutcomesSQL, t.engine.cluster)
		return tx.SendBatch(ctx, &batch).Close()
	})
}

// moveAll is queued before verdicts go that tally_change may name.
func moveAll(pipeline *pgx.Batch, cluster int32) {
	pipeline.Queue(moveTallySQL, cluster, int64(math.MaxInt64))
}
