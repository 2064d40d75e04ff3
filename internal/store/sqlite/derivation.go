// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/docket-project/docket/internal/store/engine"
)

// Statements about versions of derived rows: by the primary key of total or object, or by row id.
const (
	selectDerivation = "SELECT complete, highest FROM total WHERE cluster = ? AND resource = ?"
	beginDerivation  = "UPDATE total SET building = max(building, ?3) WHERE cluster = ?1 AND resource = ?2 RETURNING mark"
	finishDerivation = `UPDATE total SET complete = ?3
WHERE cluster = ?1 AND resource = ?2 AND complete < ?3 AND building >= ?3 AND mark = ?4`

	selectUnderived = `SELECT key, revision, created, expires_at, size, codec, iif(derived < ?4, data, NULL), derived < ?4 FROM object
WHERE cluster = ?1 AND resource = ?2 AND key > ?3 ORDER BY key LIMIT ?5`
	raiseDerived = "UPDATE object SET derived = ?2, terms = ?3 WHERE rowid = ?1 AND derived <= ?2"
)

// Derivation implements engine.Engine.
func (e *Engine) Derivation(ctx context.Context, resource engine.Resource) (state engine.DerivationState, err error) {
	err = e.borrow(ctx, func(c *conn) error {
		id, err := e.resource(c, resource)
		if err != nil {
			return err
		}
		state, err = readDerivation(c, e.cluster, id)
		return err
	})
	return state, classify("read what is derived", err)
}

func readDerivation(c *conn, cluster, resource int64) (engine.DerivationState, error) {
	var complete, highest int64
	found, err := c.one(into(&complete, &highest), selectDerivation, cluster, resource)
	if err != nil || !found {
		return engine.NothingToDerive, err
	}
	return engine.DerivationState{Complete: engine.Derivation(complete), Highest: engine.Derivation(highest)}, nil
}

// served returns the conditions of a query that index terms serve: all or none.
func (s *snapshot) served(q engine.Query, resource int64) ([]engine.Condition, error) {
	if len(q.Conditions) == 0 {
		return nil, nil
	}
	state, err := readDerivation(s.conn, s.engine.cluster, resource)
	if err != nil || !state.Serves(q.Derivation) {
		return nil, err
	}
	return q.Conditions, nil
}

// BeginDerivation implements engine.Engine.
func (e *Engine) BeginDerivation(ctx context.Context, resource engine.Resource, version engine.Derivation) (mark engine.Revision, err error) {
	err = e.changeTotal(ctx, resource, func(w *writer, id int64) error {
		_, err := w.conn.one(into(&mark), beginDerivation, e.cluster, id, int64(version))
		return err
	})
	return mark, classify("begin to derive", err)
}

// FinishDerivation implements engine.Engine.
func (e *Engine) FinishDerivation(
	ctx context.Context, resource engine.Resource, version engine.Derivation, mark engine.Revision,
) (finished bool, err error) {
	err = e.changeTotal(ctx, resource, func(w *writer, id int64) error {
		n, err := w.conn.exec(finishDerivation, e.cluster, id, int64(version), int64(mark))
		finished = n > 0
		return err
	})
	return finished, classify("finish what is derived", err)
}

// changeTotal changes the row of a resource in table total.
func (e *Engine) changeTotal(ctx context.Context, resource engine.Resource, change func(w *writer, id int64) error) error {
	return e.write(ctx, func(w *writer) error {
		id, err := e.resource(w.conn, resource)
		if err != nil {
			return err
		}
		return w.transaction(func() error { return change(w, id) })
	})
}

// Underived implements engine.Engine.
func (e *Engine) Underived(
	ctx context.Context, resource engine.Resource, after string, version engine.Derivation, limit int,
) (found engine.Underived, err error) {
	err = e.read(ctx, func(s *snapshot) error {
		id, err := e.resource(s.conn, resource)
		if err != nil {
			return err
		}
		n, last := 0, ""
		err = s.scan(func(row []driver.Value) error {
			var of engine.Row
			var underived bool
			scan(row, append(fields(&of), &underived)...)
			if n, last = n+1, of.Key; underived {
				found.Rows = append(found.Rows, of)
			}
			return nil
		}, selectUnderived, e.cluster, id, after, int64(version), int64(limit))
		if n == limit {
			found.Last = last
		}
		return err
	})
	return found, classify(fmt.Sprintf("look for what is to be derived of %s", resource), err)
}

// noteDerived notes which version derives the rows of an object, and its terms, unless a newer one has.
func (c *change) noteDerived(object int64, version engine.Derivation, terms []byte) (newer bool, err error) {
	n, err := c.conn.exec(raiseDerived, object, int64(version), terms)
	return n == 0, err
}
