// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/leftover"
)

const (
	// tidySlice is how many ids are looked at at once, and how many may go in one
	// transaction, which holds the counter. walkSlices bounds the walk of a call.
	tidySlice   = 500
	walkSlices  = 100
	tidyTimeout = time.Minute
	// samplePages is how many pages of reports, of 8 KiB, are read to learn what is common.
	samplePages = 1000
)

// released holds the ids of the verdicts and subjects of deleted rows.
type released struct {
	verdicts, subjects []int64
}

// releases collects what the commits of this process released. Safe for concurrent use.
type releases struct {
	mu  sync.Mutex
	set leftover.Set
}

func (r *releases) add(ids released) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids.verdicts {
		r.set.Verdict(id)
	}
	for _, id := range ids.subjects {
		r.set.Subject(id)
	}
}

// take removes and returns at most n ids of each.
func (r *releases) take(n int) released {
	r.mu.Lock()
	defer r.mu.Unlock()
	return released{r.set.TakeVerdicts(n), r.set.TakeSubjects(n)}
}

// tidyCursors are where the walk over all verdicts and subjects continues, so that it reaches all of them in turn.
type tidyCursors struct {
	verdict, subject int64
}

// References are looked up by the indexes result_verdict, report_verdicts, result_subject and report_scope. Each except
// report_verdicts stops at the first match; that one lists all reports with a verdict before the first is read.
// Verdicts that many reports have are known from a sample, therefore, and not looked up.
const (
	// allowBitmaps lets the transaction use report_verdicts, which can be read in no
	// other way. What hides cluster from the planner keeps it from the primary key.
	allowBitmaps = `SELECT set_config('enable_bitmapscan', 'on', true)`

	// commonVerdictsSQL finds verdicts that two reports of a sample have.
	commonVerdictsSQL = `SELECT verdict FROM docket.report
	TABLESAMPLE SYSTEM (least(100, 100.0 * $2::int8 / greatest(1, pg_relation_size('docket.report') / 8192)))
	CROSS JOIN unnest(verdicts) AS verdict
WHERE cluster = $1 GROUP BY verdict HAVING count(*) > 1`

	nextVerdictsSQL = `SELECT id FROM docket.verdict WHERE cluster = $1 AND id > $2 ORDER BY id LIMIT $3`
	nextSubjectsSQL = `SELECT id FROM docket.subject WHERE cluster = $1 AND id > $2 ORDER BY id LIMIT $3`

	// In a filter they stay subqueries for each id, and no join, which might read all rows.
	idleVerdictsSQL = `SELECT array_agg(id) FILTER (WHERE NOT EXISTS (
	SELECT FROM docket.result r WHERE r.cluster = $1 AND r.verdict = id) AND NOT EXISTS (
	SELECT FROM docket.report p WHERE p.cluster + 0 = $1 AND p.verdicts @> ARRAY[id]))
FROM unnest($2::int8[]) AS id`
	idleSubjectsSQL = `SELECT array_agg(id) FILTER (WHERE NOT EXISTS (
	SELECT FROM docket.result r WHERE r.cluster = $1 AND r.subject = id) AND NOT EXISTS (
	SELECT FROM docket.report p WHERE p.cluster = $1 AND p.scope = id))
FROM unnest($2::int8[]) AS id`

	dropVerdictsSQL = `DELETE FROM docket.verdict v WHERE cluster = $1 AND id = ANY($2)
	AND NOT EXISTS (SELECT FROM docket.result r WHERE r.cluster = $1 AND r.verdict = v.id)
	AND NOT EXISTS (SELECT FROM docket.report p WHERE p.cluster + 0 = $1 AND p.verdicts @> ARRAY[v.id])`
	dropSubjectsSQL = `DELETE FROM docket.subject s WHERE cluster = $1 AND id = ANY($2)
	AND NOT EXISTS (SELECT FROM docket.result r WHERE r.cluster = $1 AND r.subject = s.id)
	AND NOT EXISTS (SELECT FROM docket.report p WHERE p.cluster = $1 AND p.scope = s.id)`

	// countRemovalSQL invalidates what processes know to be stored.
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
	t := tidier{engine: e}
	for _, step := range []func(context.Context) error{t.sample, t.released, t.walk, t.counters} {
		if err := step(callCtx); errors.Is(err, errNotAlone) {
			return nil
		} else if err != nil {
			return e.fail(ctx, "tidy", err)
		}
	}
	return nil
}

// errNotAlone says that another process is doing the work.
var errNotAlone = errors.New("another process does this work")

// tidier removes verdicts and subjects that nothing refers to.
type tidier struct {
	engine *Engine
	// common are verdicts that many reports have.
	common map[int64]struct{}
}

// slice does a part of the work, and gives the connection back after it, as dropEvents does.
func (t *tidier) slice(ctx context.Context, work func(tx pgx.Tx) error) error {
	done, err := t.engine.alone(ctx, workTidy, work)
	if err == nil && !done {
		return errNotAlone
	}
	return err
}

func (t *tidier) sample(ctx context.Context) error {
	return t.slice(ctx, func(tx pgx.Tx) error {
		ids, err := collect(ctx, tx, commonVerdictsSQL, t.engine.cluster, int64(samplePages))
		if err != nil {
			return fmt.Errorf("sample reports: %w", err)
		}
		t.common = make(map[int64]struct{}, len(ids))
		for _, id := range ids {
			t.common[id] = struct{}{}
		}
		return nil
	})
}

func collect(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]int64, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// released looks at what commits of this process released.
func (t *tidier) released(ctx context.Context) error {
	for {
		ids := t.engine.released.take(tidySlice)
		if len(ids.verdicts)+len(ids.subjects) == 0 {
			return nil
		}
		if err := t.slice(ctx, func(tx pgx.Tx) error { return t.remove(ctx, tx, ids) }); err != nil {
			t.engine.released.add(ids)
			return err
		}
	}
}

// walk looks at the next few of all that there are: those that became unused by a process that ended before
// it had removed them, or in numbers that were not remembered.
func (t *tidier) walk(ctx context.Context) error {
	for range walkSlices {
		next := t.engine.tidy
		var whole bool
		err := t.slice(ctx, func(tx pgx.Tx) (err error) {
			next, whole, err = t.walkSlice(ctx, tx, next)
			return err
		})
		if err != nil {
			return err
		}
		t.engine.tidy = next
		if !whole {
			return nil
		}
	}
	return nil
}

// walkSlice looks at those after two cursors, and returns the next ones, and whether there is more.
func (t *tidier) walkSlice(ctx context.Context, tx pgx.Tx, from tidyCursors) (next tidyCursors, more bool, err error) {
	var ids released
	if ids.verdicts, err = collect(ctx, tx, nextVerdictsSQL, t.engine.cluster, from.verdict, tidySlice); err != nil {
		return from, false, err
	}
	if ids.subjects, err = collect(ctx, tx, nextSubjectsSQL, t.engine.cluster, from.subject, tidySlice); err != nil {
		return from, false, err
	}
	next = tidyCursors{cursorAfter(ids.verdicts), cursorAfter(ids.subjects)}
	more = next.verdict != math.MinInt64 || next.subject != math.MinInt64
	return next, more, t.remove(ctx, tx, ids)
}

// cursorAfter is where the walk continues after a slice: at the start after the last one.
func cursorAfter(ids []int64) int64 {
	if len(ids) < tidySlice {
		return math.MinInt64
	}
	return ids[tidySlice-1]
}

// remove removes those of some verdicts and subjects that nothing refers to.
func (t *tidier) remove(ctx context.Context, tx pgx.Tx, ids released) error {
	rare := make([]int64, 0, len(ids.verdicts))
	for _, id := range ids.verdicts {
		if _, common := t.common[id]; !common {
			rare = append(rare, id)
		}
	}
	if err := t.removeFrom(ctx, tx, rare, idleVerdictsSQL, dropVerdictsSQL); err != nil {
		return fmt.Errorf("verdicts: %w", err)
	}
	if err := t.removeFrom(ctx, tx, ids.subjects, idleSubjectsSQL, dropSubjectsSQL); err != nil {
		return fmt.Errorf("subjects: %w", err)
	}
	return nil
}

func (t *tidier) removeFrom(ctx context.Context, tx pgx.Tx, ids []int64, idleSQL, dropSQL string) error {
	if len(ids) == 0 {
		return nil
	}
	var idle []int64
	var search pgx.Batch
	search.Queue(allowBitmaps)
	search.Queue(idleSQL, t.engine.cluster, ids).QueryRow(func(row pgx.Row) error { return row.Scan(&idle) })
	if err := tx.SendBatch(ctx, &search).Close(); err != nil || len(idle) == 0 {
		return err
	}
	// Under the counter no commit can be about to refer to them.
	return t.engine.underCounter(ctx, tx, func(pipeline *pgx.Batch) {
		moveAll(pipeline, t.engine.cluster)
		pipeline.Queue(dropSQL, t.engine.cluster, idle)
		pipeline.Queue(countRemovalSQL, t.engine.cluster)
	})
}
