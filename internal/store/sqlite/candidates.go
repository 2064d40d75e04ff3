// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
)

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
