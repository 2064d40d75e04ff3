// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// The rows of a large report take as long as hundreds of small reports: seconds on a busy machine. Were they
// written by the commit of their report, everybody else would wait that long. So Prepare writes them before, in
// slices between which others get their turn, under a number that no report has yet; the commit only gives that
// number to the report. Rows that no report needs any more are removed in slices, too, by the next Prepare and by
// Tidy. The views show no rows without their report.

const (
	// largeReport is the number of results from which on a report is large.
	largeReport = 1000
	// largeSlice is how many results at most are written or removed in one transaction, and sliceTime when it ends
	// on a busy machine; others wait that long.
	largeSlice = 250
	sliceTime  = 10 * time.Millisecond
	// largeRowBytes is about what a result adds to the log.
	largeRowBytes = 4 << 10
	// sweepSlices is how many slices Prepare and Tidy remove at most: more than a report of the largest size has.
	sweepSlices = 400
)

// Values of large.created for rows that belong to no report.
const (
	largeStaged  = 0
	largeRetired = -1
)

// Statements of large reports, by the primary key of large unless said otherwise.
const (
	selectLowest = "SELECT min(object) FROM large WHERE cluster = ?"
	insertLarge  = "INSERT INTO large (cluster, object, created, results) VALUES (?, ?, ?, ?)"
	adoptLarge   = "UPDATE large SET created = ?3 WHERE cluster = ?1 AND object = ?2 AND created = 0"
	retireLarge  = "UPDATE large SET created = -1 WHERE cluster = ? AND object = ?"
	resizeLarge  = "UPDATE large SET created = ?3, results = ?4 WHERE cluster = ?1 AND object = ?2"
	deleteLarge  = "DELETE FROM large WHERE cluster = ? AND object = ?"
	// large_created.
	selectLarge  = "SELECT object, results FROM large INDEXED BY large_created WHERE cluster = ? AND created = ?"
	selectUnused = "SELECT object, results FROM large INDEXED BY large_created WHERE cluster = ? AND created <= 0"
	// Primary key of object, and large_created.
	selectRowsOf = `SELECT coalesce((SELECT l.object FROM large AS l INDEXED BY large_created WHERE l.cluster = o.cluster AND l.created = o.created),
o.created) FROM object AS o WHERE o.cluster = ? AND o.resource = ? AND o.key = ?`
)

// large is a row of table large: the number that the rows of a report are under, and how many there are.
type large struct{ object, results int64 }

// isLarge reports whether a projection belongs to a large report.
func (e *Engine) isLarge(p *engine.Projection) bool {
	return p != nil && len(p.Results) >= e.largeReport
}

// Prepare implements engine.Engine: it writes the rows of a large report.
func (e *Engine) Prepare(ctx context.Context, op *engine.Op) (release func(), err error) {
	release = func() {}
	if op.Kind == engine.Delete || op.KeepDerived || !e.isLarge(op.Projection) {
		return release, nil
	}
	// Who writes large reports also removes what they leave, so that there is never more than that.
	if err := e.sweep(ctx); err != nil {
		return release, classify("remove rows of large reports", err)
	}
	rows := stagedRows(op.Projection)
	if similar, err := e.similar(ctx, op, rows); err != nil || similar {
		return release, classify("read rows of a large report", err)
	}
	staged, err := e.stageRows(ctx, rows)
	if err != nil {
		if errors.Is(err, engine.ErrFull) { // Others may still find space.
			err = errors.Join(err, e.sweep(ctx))
		}
		return release, err
	}
	op.Prepared = staged
	return func() { e.staging.Delete(staged.object) }, nil
}

// similar reports whether an op changes so few rows of a report that its commit should write just the difference.
func (e *Engine) similar(ctx context.Context, op *engine.Op, rows []stagedRow) (bool, error) {
	resource, known := e.resources.Load(op.Resource)
	if op.Kind != engine.Update || !known {
		return false, nil
	}
	differ := 0
	err := e.read(ctx, func(s *snapshot) error {
		object, err := s.number(ctx, selectRowsOf, e.cluster, resource, op.Key)
		if err != nil {
			return err
		}
		i := 0
		err = s.query(ctx, func(row []driver.Value) error {
			var stored result
			stored.scan(row)
			if i >= len(rows) || rows[i].result != stored {
				differ++
			}
			if i++; differ > e.largeSlice {
				return errStop
			}
			return nil
		}, selectResults, e.cluster, object)
		differ += max(0, len(rows)-i)
		return err
	})
	return differ <= e.largeSlice, err
}

// stagedRow is a row of table result, its position in its report, and its result.
type stagedRow struct {
	result
	position int64
	of       *engine.Result
}

// stagedRows returns the rows of a projection.
func stagedRows(p *engine.Projection) []stagedRow {
	// Equal ones are the same pointer.
	verdicts, subjects := map[*engine.Verdict]int64{}, map[*engine.Subject]any{nil: nil}
	rows := make([]stagedRow, len(p.Results))
	for i := range p.Results {
		r := &p.Results[i]
		if _, ok := verdicts[r.Verdict]; !ok {
			verdicts[r.Verdict] = r.Verdict.ID()
		}
		if _, ok := subjects[r.Subject]; !ok {
			subjects[r.Subject] = r.Subject.ID()
		}
		rows[i] = stagedRow{result{int64(r.Index), verdicts[r.Verdict], subjects[r.Subject], r.Seconds, int64(r.Ordinal)}, int64(i), r}
	}
	return rows
}

// stageRows writes rows in slices, in the order of their verdicts, so that those of a slice are neighbours in
// the tables. On an error nothing of them will be used.
func (e *Engine) stageRows(ctx context.Context, rows []stagedRow) (large, error) {
	slices.SortStableFunc(rows, func(a, b stagedRow) int { return cmp.Compare(a.verdict, b.verdict) })
	staged, err := e.stage(ctx, len(rows))
	for err == nil && len(rows) > 0 {
		var n int
		n, err = e.stageSlice(ctx, staged, rows[:min(e.largeSlice, len(rows))])
		rows = rows[n:]
	}
	if err != nil {
		e.staging.Delete(staged.object)
	}
	return staged, classify("write rows of a large report", err)
}

// stage takes a number for rows.
func (e *Engine) stage(ctx context.Context, rows int) (staged large, err error) {
	err = e.write(ctx, func(w *writer) error {
		if w.lowest == 0 {
			lowest, err := w.conn.number(ctx, selectLowest, e.cluster)
			if err != nil {
				return err
			}
			w.lowest = min(lowest, 0)
		}
		// A number is never used again while this process lives: it may be on its way to a commit.
		w.lowest--
		staged = large{w.lowest, int64(rows)}
		e.staging.Store(staged.object, struct{}{})
		return w.transaction(func() error {
			_, err := w.conn.exec(insertLarge, e.cluster, staged.object, int64(largeStaged), staged.results)
			return err
		})
	})
	return staged, err
}

// stageSlice writes the first few of rows, and what they refer to. It returns how many.
func (e *Engine) stageSlice(ctx context.Context, staged large, rows []stagedRow) (written int, err error) {
	err = e.write(ctx, func(w *writer) error {
		c := change{engine: e, writer: w, conn: w.conn}
		start := time.Now()
		err := w.transaction(func() error {
			for written = 0; written == 0 || written < len(rows) && time.Since(start) < sliceTime; written++ {
				if err := c.stageRow(staged.object, rows[written]); err != nil {
					return err
				}
			}
			return nil
		})
		e.wrote(w, 1, int64(written)*largeRowBytes)
		return err
	})
	return written, err
}

func (c *change) stageRow(object int64, row stagedRow) error {
	if err := c.writeVerdict(row.verdict, row.of.Verdict); err != nil {
		return err
	}
	if row.subject != nil {
		if err := c.writeSubject(row.subject.(int64), row.of.Subject); err != nil {
			return err
		}
	}
	if _, _, err := c.outcome(row.verdict); err != nil {
		return err
	}
	_, err := c.conn.exec(insertResult, c.engine.cluster, object, row.position, row.index, row.verdict, row.subject, row.seconds, row.ordinal, int64(0))
	return err
}

// place decides which number the rows of an object are stored under, and sees to it. It reports whether the rows
// already exist.
func (c *change) place(d *derivation) (there bool, err error) {
	d.object = d.created
	if !d.fresh {
		if over, err := c.leave(d); err != nil || over {
			return false, err
		}
	}
	staged, ok := d.prepared.(large)
	if !ok {
		return false, nil
	}
	n, err := c.conn.exec(adoptLarge, c.engine.cluster, staged.object, d.created)
	if err != nil || n == 0 {
		return false, err // The caller of Prepare gave the rows up meanwhile.
	}
	d.object = staged.object
	c.countAll(d.projection)
	c.total(d.resource).results += staged.results
	return true, nil
}

// leave takes an object from the rows that it has, unless the new ones are to be written over them.
func (c *change) leave(d *derivation) (over bool, err error) {
	var old large
	found, err := c.conn.one(into(&old.object, &old.results), selectLarge, c.engine.cluster, d.created)
	if err != nil {
		return false, err
	}
	switch {
	case d.prepared == nil && !found:
		return true, nil
	case d.prepared == nil && c.engine.isLarge(d.projection):
		d.object = old.object
		_, err = c.conn.exec(resizeLarge, c.engine.cluster, old.object, d.created, int64(len(d.projection.Results)))
		return true, err
	case !found:
		old.object = d.created
	}
	if err := c.discount(old.object); err != nil {
		return false, err
	}
	if found {
		_, err = c.conn.exec(retireLarge, c.engine.cluster, old.object)
	} else {
		old.results, err = c.writer.dropResults(c.engine.cluster, d.created, 0)
	}
	if err != nil {
		return false, err
	}
	c.total(d.resource).results -= old.results
	d.fresh = true
	return false, c.writer.dropReport(c.engine.cluster, old.object)
}

// sweep removes rows that belong to no report, and are not on their way to one.
func (e *Engine) sweep(ctx context.Context) error {
	for range e.largeSweep {
		done := false
		err := e.write(ctx, func(w *writer) error {
			unused, err := e.unused(ctx, w)
			if err != nil || unused == nil {
				done = true
				return err
			}
			err = w.transaction(func() error { return e.sweepSlice(w, *unused) })
			e.wrote(w, 1, int64(e.largeSlice)*largeRowBytes)
			return err
		})
		if err != nil || done {
			return err
		}
	}
	return nil
}

// unused returns rows to remove, nil for none.
func (e *Engine) unused(ctx context.Context, w *writer) (found *large, err error) {
	err = w.conn.query(ctx, func(row []driver.Value) error {
		var candidate large
		scan(row, &candidate.object, &candidate.results)
		if _, staging := e.staging.Load(candidate.object); staging {
			return nil
		}
		found = &candidate
		return errStop
	}, selectUnused, e.cluster)
	return found, err
}

// sweepSlice removes the last few rows. From the first time on no commit can take them.
func (e *Engine) sweepSlice(w *writer, unused large) error {
	left := max(0, unused.results-int64(e.largeSlice))
	if _, err := w.dropResults(e.cluster, unused.object, left); err != nil {
		return err
	}
	if left == 0 {
		_, err := w.conn.exec(deleteLarge, e.cluster, unused.object)
		return err
	}
	_, err := w.conn.exec(resizeLarge, e.cluster, unused.object, int64(largeRetired), left)
	return err
}
