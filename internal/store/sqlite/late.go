// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import "context"

// The index result_verdict has an entry at another place for each result of a report: more than half of the pages that
// the commit of a report would write. New results are therefore marked as late, which keeps them out of that index, and
// many are entered at once. Questions by verdicts read the index, and the late results beside it:
// docs/adr/0059-late-index.md.

const (
	// lateRows is how many results may wait for the index before they are entered, about; questions read them all.
	lateRows = 8192
	// lateSlice is how many results are entered in one transaction, about; writers wait that long.
	lateSlice = 4096
	// lateAPage of the entries are about as many pages of the log as one other change.
	lateAPage = 100
)

// Late results are those of objects behind revision.indexed that are marked. Statements by the primary key of result.
const (
	selectIndexed = "SELECT indexed FROM revision WHERE cluster = ?"
	markIndexed   = "UPDATE revision SET indexed = ?2 WHERE cluster = ?1"
	selectSlice   = "SELECT max(object), count(*) FROM (SELECT object FROM result WHERE cluster = ? AND object > ? ORDER BY object, position LIMIT ?) HAVING count(*) > 0"
	// OR FAIL, because ABORT would keep a copy of all pages for the case that half of the statement has to be undone: an
	// error undoes the transaction.
	enterLate = "UPDATE OR FAIL result SET late = 0 WHERE cluster = ? AND object > ? AND object <= ? AND late = 1"
)

// lag is what the index of verdicts lacks.
type lag struct {
	// indexed is revision.indexed: results of later objects may be late.
	indexed int64
	// rows is about how many are late, 0 only if there are none.
	rows int64
}

// readLag finds out what a database that is opened lacks.
func (w *writer) readLag(ctx context.Context, e *Engine) (err error) {
	w.lag.indexed, err = w.conn.number(ctx, selectIndexed, e.cluster)
	w.lag.rows = lateRows
	return err
}

// enter enters late results if there are as many as a limit, in slices between which other writers get their turn,
// until one finds no more.
func (e *Engine) enter(ctx context.Context, limit int64) error {
	for more := true; more; limit = 0 {
		err := e.write(ctx, func(w *writer) (err error) {
			if more = w.lag.rows > 0 && w.lag.rows >= limit; more {
				more, err = e.enterSlice(w)
			}
			return err
		})
		if err != nil {
			return classify("enter results into the index of verdicts", err)
		}
	}
	return nil
}

// enterSlice enters the oldest late results, and reports whether there may be more.
func (e *Engine) enterSlice(w *writer) (more bool, err error) {
	end, rows, entered := w.lag.indexed, int64(0), int64(0)
	err = w.transaction(func() error {
		found, err := w.conn.one(into(&end, &rows), selectSlice, e.cluster, w.lag.indexed, int64(lateSlice))
		if err != nil || !found {
			return err
		}
		if entered, err = w.conn.exec(enterLate, e.cluster, w.lag.indexed, end); err != nil {
			return err
		}
		_, err = w.conn.exec(markIndexed, e.cluster, end)
		return err
	})
	if err != nil {
		w.lag.rows = 1 // On a full disk only one commit in many retries.
		return false, err
	}
	if more = rows == lateSlice; more {
		w.lag = lag{end, max(1, w.lag.rows-entered)}
	} else {
		w.lag = lag{end, 0}
	}
	e.wrote(w, 1+entered/lateAPage, 0)
	return more, nil
}
