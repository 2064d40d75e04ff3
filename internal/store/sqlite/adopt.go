// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/store/engine"
)

// Programs from before schema 7 have index terms in table term. What they wrote is taken over when the database is
// opened, before anything else uses it: in slices, so that the log stays small, and who is stopped goes on where it
// was. All their rows are left as they are until the end, so that the way back is open at any time.

// adoptSlice is how many objects are taken over in a transaction.
const adoptSlice = 2000

// Statements of adopt: by the primary key of total, by row id, by term_object or by the primary key of term.
const (
	mustAdopt    = "SELECT count(*) FROM total WHERE cluster = ? AND complete < 100"
	selectOlder  = "SELECT rowid, resource, key, created, terms FROM object NOT INDEXED WHERE cluster = ? AND rowid > ? AND derived < 100 ORDER BY rowid LIMIT ?"
	selectTerms  = "SELECT name, value FROM term INDEXED BY term_object WHERE cluster = ? AND created = ?"
	adoptObject  = "UPDATE object SET derived = derived + 100, terms = ?2 WHERE rowid = ?1"
	adoptTotals  = "UPDATE total SET complete = complete + 100, highest = iif(highest < 100, highest + 100, highest) WHERE cluster = ? AND complete < 100"
	othersTerms  = "SELECT EXISTS (SELECT 1 FROM term WHERE cluster < ?1) + EXISTS (SELECT 1 FROM term WHERE cluster > ?1)"
	deleteTerms  = "DELETE FROM term WHERE cluster = ?"
	deleteAll    = "DELETE FROM term" // It takes no time.
	adoptingLog  = "PRAGMA wal_autocheckpoint = 6000"
	afterwardLog = "PRAGMA wal_autocheckpoint = 0"
)

// adopt takes over what older programs wrote.
func (e *Engine) adopt(ctx context.Context, w *writer) error {
	objects, err := w.conn.number(ctx, mustAdopt, e.cluster)
	if err != nil || objects == 0 || e.demands.Writable() != nil {
		return err
	}
	klog.InfoS("Converting the index terms of an older version of Docket", "path", e.path)
	if _, err := w.conn.pragma(adoptingLog); err != nil {
		return err
	}
	done, err := e.adoptObjects(ctx, w)
	if err == nil {
		err = w.transaction(func() error { return e.adoptTotals(w) })
	}
	err = classify("take over index terms", err)
	if errors.Is(err, engine.ErrFull) { // Lists read all objects, which is slow and right.
		klog.ErrorS(err, "The index terms of an older version of Docket can't be converted", "path", e.path, "objects", done)
		err = nil
	}
	_, last := w.conn.pragma(afterwardLog)
	if err = errors.Join(err, last); err == nil {
		klog.InfoS("Converted the index terms of an older version of Docket", "path", e.path, "objects", done)
	}
	return err
}

// adoptObjects takes over the objects that older programs wrote, and returns how many.
func (e *Engine) adoptObjects(ctx context.Context, w *writer) (done int, err error) {
	for last := int64(0); ; {
		if err := e.usable(ctx); err != nil {
			return done, err
		}
		older, err := e.older(ctx, w, last)
		if err != nil || len(older) == 0 {
			return done, err
		}
		if err := w.transaction(func() error { return e.adoptSlice(ctx, w, older) }); err != nil {
			return done, err
		}
		done, last = done+len(older), older[len(older)-1].id
	}
}

// olderObject is an object that an older program wrote.
type olderObject struct {
	id, resource int64
	key          string
	created      int64
	terms        []byte
}

// older returns the next objects that older programs wrote.
func (e *Engine) older(ctx context.Context, w *writer, after int64) (found []olderObject, err error) {
	err = w.conn.query(ctx, func(row []driver.Value) error {
		var o olderObject
		scan(row, &o.id, &o.resource, &o.key, &o.created, &o.terms)
		found = append(found, o)
		return nil
	}, selectOlder, e.cluster, after, int64(adoptSlice))
	return found, err
}

// adoptSlice takes over objects in the order of their terms, so that neighbours in the table are written together.
func (e *Engine) adoptSlice(ctx context.Context, w *writer, older []olderObject) error {
	type row struct {
		resource, term int64
		key            string
	}
	var rows []row
	for _, o := range older {
		var terms []engine.Term
		err := w.conn.query(ctx, func(row []driver.Value) error {
			var term engine.Term
			scan(row, &term.Name, &term.Value)
			terms = append(terms, term)
			return nil
		}, selectTerms, e.cluster, o.created)
		if err != nil {
			return err
		}
		// An object that we wrote has no such terms until an older program changes them. Those that it had before
		// stay, and find a candidate more.
		packed := o.terms
		for _, term := range unpackTerms(packTerms(terms)) {
			if slices.Contains(unpackTerms(o.terms), term) {
				continue
			}
			packed = appendTerm(packed, term)
			rows = append(rows, row{o.resource, term, o.key})
		}
		if _, err := w.conn.exec(adoptObject, o.id, packed); err != nil {
			return err
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.term, b.term), cmp.Compare(a.key, b.key))
	})
	for _, r := range rows {
		if _, err := w.conn.exec(insertTerm, e.cluster, r.resource, r.term, r.key); err != nil {
			return err
		}
	}
	return nil
}

// adoptTotals says that all objects were taken over, and removes what older programs need no more.
func (e *Engine) adoptTotals(w *writer) error {
	if _, err := w.conn.exec(adoptTotals, e.cluster); err != nil {
		return err
	}
	others, err := w.conn.number(context.Background(), othersTerms, e.cluster)
	if err != nil {
		return err
	}
	if others == 0 {
		_, err = w.conn.exec(deleteAll)
	} else {
		_, err = w.conn.exec(deleteTerms, e.cluster)
	}
	return err
}
