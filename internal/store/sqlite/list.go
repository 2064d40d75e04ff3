// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
)

// Statements of lists. Bounds of keys are from (inclusive) and to (exclusive);
// to may be an empty blob, which is above all text.
const (
	// A range of the primary key of object, with the rows behind it. Values that
	// are newer than ?5 are left out: the caller undoes those rows.
	selectRange = `SELECT key, revision, created, expires_at, size, codec, iif(revision <= ?5, data, NULL) FROM object
WHERE cluster = ?1 AND resource = ?2 AND key >= ?3 AND key < ?4 ORDER BY key LIMIT ?6`
	// The same range, without the rows.
	countRange = "SELECT count(*) FROM (SELECT 1 FROM object WHERE cluster = ? AND resource = ? AND key >= ? AND key < ? LIMIT ?)"
)

// window is a range of keys of a resource in a snapshot.
type window struct {
	resource int64
	// from is the first key that belongs to the window.
	from string
	// to is the first key behind it: text, or aboveAll.
	to any
	// at is the revision whose rows are wanted.
	at engine.Revision
}

// aboveAll is an upper bound: SQLite orders blobs behind text.
var aboveAll any = []byte{}

// windowOf returns the keys that a query is about.
func windowOf(q engine.Query, resource int64, at engine.Revision) window {
	w := window{resource: resource, from: q.Prefix, to: behindPrefix(q.Prefix), at: at}
	if q.After != "" {
		from := q.After
		if !q.Inclusive {
			from = behindKey(from)
		}
		w.from = max(w.from, from)
	}
	return w
}

// behindKey is the least key above a key.
func behindKey(key string) string { return key + "\x00" }

// behindPrefix is the least text above all keys with a prefix.
func behindPrefix(prefix string) any {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return aboveAll
}

// List implements engine.Engine.
func (e *Engine) List(ctx context.Context, q engine.Query) (page engine.Page, err error) {
	if err := e.read(ctx, func(s *snapshot) (err error) {
		page, err = s.list(q)
		return err
	}); err != nil {
		return engine.Page{}, classify(fmt.Sprintf("list %s%s", q.Resource, q.Prefix), err)
	}
	return page, nil
}

// noLimit stands for an absent limit in statements.
const noLimit = -1

func (s *snapshot) list(q engine.Query) (engine.Page, error) {
	at, err := s.revision(q.At)
	if err != nil {
		return engine.Page{}, err
	}
	page := engine.Page{State: s.state, Remaining: -1}
	if q.Count {
		page.Remaining = 0
	}
	resource, err := s.engine.resource(s.conn, q.Resource)
	if err != nil || resource == 0 {
		return page, err
	}
	w := windowOf(q, resource, at)
	if to, bounded := w.to.(string); bounded && w.from >= to {
		return page, nil
	}
	// One row more than asked for reports whether there are more.
	limit := noLimit
	if q.Limit > 0 {
		limit = q.Limit + 1
	}
	conditions, err := s.served(q, resource)
	if err != nil {
		return page, err
	}
	if page.Rows, err = s.rows(w, conditions, limit); err != nil {
		return page, err
	}
	if q.Limit > 0 && len(page.Rows) > q.Limit {
		page.Rows = slices.Delete(page.Rows, q.Limit, len(page.Rows))
		page.More = true
	}
	if !q.Count || len(page.Rows) == 0 {
		return page, nil
	}
	if q.Prefix == "" && w.from == "" && w.at == s.state.Revision && len(q.Conditions) == 0 {
		// The first page of everything: the sums know it.
		objects, err := s.number(s.ctx, selectTotal, s.engine.cluster, resource)
		page.Remaining = objects - int64(len(page.Rows))
		return page, err
	}
	w.from = behindKey(page.Rows[len(page.Rows)-1].Key)
	page.Remaining, err = s.count(w)
	return page, err
}

// revision returns the revision to read at.
func (s *snapshot) revision(at engine.Revision) (engine.Revision, error) {
	switch {
	case at == 0:
		return s.state.Revision, nil
	case at < 0:
		return 0, errors.New("the revision is negative")
	case at < s.state.Compacted:
		return 0, engine.ErrCompacted
	case at > s.state.Revision:
		return 0, engine.ErrFuture
	}
	return at, nil
}

// rows returns up to limit rows of a window, by key.
func (s *snapshot) rows(w window, conditions []engine.Condition, limit int) ([]engine.Row, error) {
	find, err := s.finder(w.resource, conditions)
	if err != nil {
		return nil, err
	}
	if w.at == s.state.Revision {
		return find(w, limit)
	}
	return s.undo(w, find, limit)
}

// finder returns a way to read the current rows of a window that meet some
// conditions, by key. Rows that are newer than window.at come without Data.
type finder func(w window, limit int) ([]engine.Row, error)

// findAll is the finder without conditions.
func (s *snapshot) findAll(w window, limit int) ([]engine.Row, error) {
	return s.find(selectRange, s.engine.cluster, w.resource, w.from, w.to, int64(w.at), int64(limit))
}

// find reads rows of the columns key, revision, created, expires_at, size, codec, data.
func (s *snapshot) find(query string, args ...any) ([]engine.Row, error) {
	var rows []engine.Row
	err := s.scan(func(row []driver.Value) error {
		rows = append(rows, engine.Row{})
		scan(row, fields(&rows[len(rows)-1])...)
		return nil
	}, query, args...)
	return rows, err
}

// count returns the number of keys that a window had at its revision, -1 if there are too many to count.
func (s *snapshot) count(w window) (int64, error) {
	n, err := s.number(s.ctx, countRange, s.engine.cluster, w.resource, w.from, w.to, int64(engine.CountCap)+1)
	switch {
	case err != nil:
		return 0, err
	case n > engine.CountCap:
		return -1, nil
	case w.at == s.state.Revision:
		return n, nil
	}
	gone, err := s.countGone(w)
	return n + gone, err
}
