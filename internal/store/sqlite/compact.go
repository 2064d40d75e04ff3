// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// Statements of compaction, by primary keys unless said otherwise.
const (
	markCompacted = "UPDATE revision SET compacted = ?2 WHERE cluster = ?1 AND compacted < ?2"
	selectOldest  = "SELECT min(revision) FROM event WHERE cluster = ?"
	// A range of eventSlice rows, and their entries in event_key.
	deleteEvents    = "DELETE FROM event WHERE cluster = ? AND revision <= ?"
	selectEventSums = `SELECT committed_at, total_bytes, length(CAST(key AS BLOB)) + coalesce(length(previous_data), 0)
FROM event WHERE cluster = ? AND revision = ?`

	// Ranges of tidySlice rows; result_verdict, result_subject and report_scope.
	selectVerdicts = "SELECT id FROM verdict WHERE cluster = ? AND id > ? ORDER BY id LIMIT ?"
	deleteVerdict  = `DELETE FROM verdict WHERE cluster = ?1 AND id = ?2
AND NOT EXISTS (SELECT 1 FROM result INDEXED BY result_verdict WHERE cluster = ?1 AND verdict = ?2 AND late = 0)`
	selectSubjects = "SELECT id FROM subject WHERE cluster = ? AND id > ? ORDER BY id LIMIT ?"
	deleteSubject  = `DELETE FROM subject WHERE cluster = ?1 AND id = ?2
AND NOT EXISTS (SELECT 1 FROM result INDEXED BY result_subject WHERE cluster = ?1 AND subject = ?2 AND subject IS NOT NULL)
AND NOT EXISTS (SELECT 1 FROM report INDEXED BY report_scope WHERE cluster = ?1 AND scope = ?2 AND scope IS NOT NULL)`
)

const (
	// eventSlice is how many events are deleted in one transaction; writers wait that long.
	eventSlice = 1000
	// eventsAPage of the log are about as many as one other change.
	eventsAPage = 20
	// tidySlice is how many verdicts or subjects are looked at in one
	// transaction, and tidySlices how many transactions a call of Tidy does.
	tidySlice  = 1000
	tidySlices = 4
	// vacuumPages are given back to the file system at a time, and that vacuumSlices times a call, when more than one
	// page in vacuumShare is free.
	vacuumPages  = 2000
	vacuumSlices = 64
	vacuumShare  = 8
)

// Compact implements engine.Engine. The mark is committed before the first event goes, so that no reader finds a hole.
func (e *Engine) Compact(ctx context.Context, upTo engine.Revision) error {
	var mark engine.Revision
	err := e.write(ctx, func(w *writer) error {
		return w.transaction(func() error {
			c, err := readCounters(w.conn, e.cluster)
			if err != nil {
				return err
			}
			if upTo > c.state.Revision {
				return fmt.Errorf("the current revision is %d: %w", c.state.Revision, engine.ErrFuture)
			}
			mark = max(upTo, c.state.Compacted)
			_, err = w.conn.exec(markCompacted, e.cluster, int64(upTo))
			return err
		})
	})
	if err == nil {
		err = e.dropEvents(ctx, mark)
	}
	return classify(fmt.Sprintf("compact up to %d", upTo), err)
}

// dropEvents deletes the events up to a mark in slices, between which other writers get their turn.
func (e *Engine) dropEvents(ctx context.Context, mark engine.Revision) error {
	for done := false; !done; {
		err := e.write(ctx, func(w *writer) error {
			var deleted int64
			err := w.transaction(func() error {
				oldest, err := w.conn.number(ctx, selectOldest, e.cluster)
				if err != nil {
					return err
				}
				end := min(oldest+eventSlice-1, int64(mark))
				if oldest == 0 || oldest > end {
					done = true
					return nil
				}
				done = end == int64(mark)
				deleted, err = w.conn.exec(deleteEvents, e.cluster, end)
				return err
			})
			e.wrote(w, (deleted+eventsAPage-1)/eventsAPage, 0)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sums are what an event knows of all before it.
type sums struct {
	// time in Unix milliseconds.
	time int64
	// bytesBefore is the sum of engine.EventBytes before this event's.
	bytesBefore int64
}

// eventSums reads the sums of an event, nil when there is none.
func (s *snapshot) eventSums(revision engine.Revision) (out *sums, err error) {
	_, err = s.one(func(row []driver.Value) {
		var total, own int64
		out = &sums{}
		scan(row, &out.time, &total, &own)
		out.bytesBefore = total - own - engine.EventOverhead
	}, selectEventSums, s.engine.cluster, int64(revision))
	return out, err
}

// Horizon implements engine.Engine. Times and sums grow with revisions, so both limits are found by bisection, in some
// twenty look-ups. When the clock was set back in between, the answer is one of the revisions at which the limit is
// crossed.
func (e *Engine) Horizon(ctx context.Context, keep time.Duration, maxBytes int64) (engine.Revision, error) {
	var horizon engine.Revision
	err := e.read(ctx, func(s *snapshot) error {
		oldest := e.now().Add(-keep).UnixMilli()
		byTime, err := s.bisect(func(event *sums) bool { return event.time < oldest })
		if err != nil {
			return err
		}
		horizon = byTime
		if maxBytes > 0 {
			byBytes, err := s.bisect(func(event *sums) bool { return s.historyBytes-event.bytesBefore > maxBytes })
			if err != nil {
				return err
			}
			horizon = max(horizon, byBytes)
		}
		return nil
	})
	return horizon, classify("read the horizon", err)
}

// bisect returns the last revision whose event is beyond a limit; 0 for none.
// Invariant: every revision above max(compacted, 1) has an event.
func (s *snapshot) bisect(beyond func(*sums) bool) (engine.Revision, error) {
	base := max(s.state.Compacted, 1)
	var failure error
	n := sort.Search(int(s.state.Revision-base), func(i int) bool {
		event, err := s.eventSums(base + engine.Revision(i) + 1)
		if err == nil && event == nil {
			err = fmt.Errorf("%w: event %d is missing", engine.ErrCorrupt, base+engine.Revision(i)+1)
		}
		if err != nil {
			failure = err
			return true
		}
		return !beyond(event)
	})
	if failure != nil || n == 0 {
		return 0, failure
	}
	return base + engine.Revision(n), nil
}

// tidyCursor is where a round over verdicts and subjects goes on. It starts anywhere, so that all are reached even when
// the process never lives long enough for a whole round.
type tidyCursor struct {
	started            bool
	verdicts, subjects int64
}

// Tidy implements engine.Engine.
func (e *Engine) Tidy(ctx context.Context) error {
	// Events below the mark remain when a compaction was cut short, or after a jump of the revision.
	state, err := e.State(ctx)
	if err == nil {
		err = e.dropEvents(ctx, state.Compacted)
	}
	if err == nil {
		err = e.sweep(ctx)
	}
	if err == nil {
		err = e.enter(ctx, 0)
	}
	if err == nil {
		err = e.tidyDropped(ctx)
	}
	for range tidySlices {
		if err == nil {
			err = e.write(ctx, func(w *writer) error { return e.tidySlice(ctx, w) })
		}
	}
	if err == nil {
		err = e.write(ctx, e.tidyTally)
	}
	for i, more := 0, true; err == nil && more && i < vacuumSlices; i++ {
		err = e.write(ctx, func(w *writer) (err error) {
			more, err = e.shrink(w)
			return err
		})
	}
	return classify("tidy", err)
}

// tidySlice removes unused verdicts and subjects among the next few of a round over all: those that became unused
// while another process had the database, or in numbers that were not remembered.
func (e *Engine) tidySlice(ctx context.Context, w *writer) error {
	if !w.tidy.started {
		w.tidy = tidyCursor{started: true, verdicts: int64(rand.Uint64()), subjects: int64(rand.Uint64())}
	}
	verdicts, err := e.walk(ctx, w, selectVerdicts, &w.tidy.verdicts)
	if err != nil {
		return err
	}
	subjects, err := e.walk(ctx, w, selectSubjects, &w.tidy.subjects)
	if err != nil {
		return err
	}
	return e.remove(w, verdicts, subjects)
}

// walk returns the next few ids of a round, and moves its cursor behind them.
func (e *Engine) walk(ctx context.Context, w *writer, query string, cursor *int64) ([]int64, error) {
	var ids []int64
	err := w.conn.query(ctx, func(row []driver.Value) error {
		ids = append(ids, row[0].(int64))
		return nil
	}, query, e.cluster, *cursor, int64(tidySlice))
	if err != nil {
		return nil, err
	}
	*cursor = math.MinInt64
	if len(ids) == tidySlice {
		*cursor = ids[tidySlice-1]
	}
	return ids, nil
}

// shrink gives some free pages back, and reports whether there are more to give.
func (e *Engine) shrink(w *writer) (more bool, err error) {
	free, err := w.conn.pragmaNumber("PRAGMA freelist_count")
	if err != nil {
		return false, err
	}
	pages, err := w.conn.pragmaNumber("PRAGMA page_count")
	if err != nil || free <= pages/vacuumShare {
		return false, err
	}
	if _, err := w.conn.pragma(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages)); err != nil {
		return false, err
	}
	e.wrote(w, min(free, vacuumPages), 0)
	return free > vacuumPages, nil
}

// dropSubject remembers a subject that was referred to: an int64 or nil.
func (w *writer) dropSubject(id any) {
	if id, ok := id.(int64); ok {
		w.dropped.Subject(id)
	}
}

// dropResults deletes the results of an object from a position on, and remembers what they referred to.
func (w *writer) dropResults(cluster, object, from int64) (dropped int64, err error) {
	err = w.conn.query(context.Background(), func(row []driver.Value) error {
		var verdict int64
		var subject any
		scan(row, &verdict, &subject)
		dropped++
		w.dropped.Verdict(verdict)
		w.dropSubject(subject)
		return nil
	}, deleteResults, cluster, object, from)
	return dropped, err
}

// dropReport deletes the row of a report, and remembers its scope.
func (w *writer) dropReport(cluster, object int64) error {
	var scope any
	_, err := w.conn.one(into(&scope), deleteReport, cluster, object)
	w.dropSubject(scope)
	return err
}

// tidyDropped removes candidates that nothing refers to, a slice in each transaction.
func (e *Engine) tidyDropped(ctx context.Context) error {
	for more := true; more; {
		err := e.write(ctx, func(w *writer) error {
			verdicts, subjects := w.dropped.TakeVerdicts(tidySlice), w.dropped.TakeSubjects(tidySlice)
			more = w.dropped.Len() > 0
			return e.remove(w, verdicts, subjects)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes those of some verdicts and subjects that nothing refers to, in one transaction. Nobody
// else writes meanwhile, so nothing can start to use them.
func (e *Engine) remove(w *writer, verdicts, subjects []int64) error {
	if len(verdicts)+len(subjects) == 0 {
		return nil
	}
	removed := int64(0)
	for w.lag.rows > 0 { // They have verdicts that the index doesn't know to be used.
		if _, err := e.enterSlice(w); err != nil {
			return err
		}
	}
	err := w.transaction(func() error {
		for _, part := range []struct {
			ids       []int64
			statement string
			known     map[int64]struct{}
		}{{verdicts, deleteVerdict, w.known.verdicts}, {subjects, deleteSubject, w.known.subjects}} {
			for _, id := range part.ids {
				n, err := w.conn.exec(part.statement, e.cluster, id)
				if err != nil {
					return err
				}
				if n > 0 {
					delete(part.known, id)
				}
				removed += n
			}
		}
		return nil
	})
	e.wrote(w, removed, 0)
	return err
}
