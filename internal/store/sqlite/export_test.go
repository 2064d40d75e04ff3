// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// TableBytes returns the sizes of tables and indexes for benchmarks.
func (e *Engine) TableBytes(ctx context.Context) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := e.borrow(ctx, func(c *conn) error {
		return c.query(ctx, func(row []driver.Value) error {
			sizes[text(row[0])] = row[1].(int64)
			return nil
		}, "SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
	})
	return sizes, err
}

// Exec runs SQL on a file that no engine has open.
func Exec(t testing.TB, path, query string) {
	t.Helper()
	c, err := connect(path)
	if err == nil {
		_, err = c.exec(query)
		err = errors.Join(err, c.close())
	}
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// Migrate brings the schema of a file that no engine has open up to date with migrations of a test.
func Migrate(t testing.TB, path string, files fs.FS) {
	t.Helper()
	testkit.NoError(t, migrate(t.Context(), path, files))
}

// Number asks a file that no engine has open.
func Number(ctx context.Context, path, query string) (n int64, err error) {
	c, err := connect(path)
	if err == nil {
		n, err = c.number(ctx, query)
		err = errors.Join(err, c.close())
	}
	return n, err
}

// SetWALLimit makes the log small enough for a test.
func (e *Engine) SetWALLimit(bytes int64) { e.walLimit = bytes }

// SetLargeReport makes reports large, slices of their rows small, and a sweep short, for a test.
func (e *Engine) SetLargeReport(results, slice, sweep int) {
	e.largeReport, e.largeSlice, e.largeSweep = results, slice, sweep
}

// Answer returns the answer to a query.
func (e *Engine) Answer(ctx context.Context, query string) (rows [][]driver.Value, err error) {
	err = e.borrow(ctx, func(c *conn) error {
		return c.query(ctx, func(row []driver.Value) error {
			rows = append(rows, slices.Clone(row))
			return nil
		}, query)
	})
	return rows, err
}

// Results implements enginetest.Results.
func (e *Engine) Results(ctx context.Context) ([]string, error) {
	return e.texts(ctx, enginetest.ResultsSQL, "policy_results")
}

// Counts implements enginetest.Results.
func (e *Engine) Counts(ctx context.Context) ([]string, error) {
	rows, err := e.Answer(ctx, fmt.Sprintf("SELECT tallied = revision FROM revision WHERE cluster = %d", e.cluster))
	if err == nil && rows[0][0].(int64) != 1 {
		err = errors.New("the counters are not kept")
	}
	if err != nil {
		return nil, err
	}
	return e.texts(ctx, enginetest.CountsSQL, "policy_namespace_counts")
}

// texts reads a column of a view.
func (e *Engine) texts(ctx context.Context, format, view string) ([]string, error) {
	rows, err := e.Answer(ctx, fmt.Sprintf(format, view, "cluster", e.cluster))
	results := make([]string, 0, len(rows))
	for _, row := range rows {
		results = append(results, text(row[0]))
	}
	return results, err
}

// CountRows counts the rows of a table.
func (e *Engine) CountRows(ctx context.Context, table string) (n int64, err error) {
	err = e.borrow(ctx, func(c *conn) error {
		n, err = c.number(ctx, "SELECT count(*) FROM "+table)
		return err
	})
	return n, err
}

// Dangling counts references of derived rows to rows that don't exist.
func (e *Engine) Dangling(ctx context.Context) (n int64, err error) {
	err = e.borrow(ctx, func(c *conn) error {
		n, err = c.number(ctx, `SELECT
(SELECT count(*) FROM result r WHERE NOT EXISTS (SELECT 1 FROM verdict v WHERE v.cluster = r.cluster AND v.id = r.verdict)) +
(SELECT count(*) FROM result r WHERE r.subject IS NOT NULL
 AND NOT EXISTS (SELECT 1 FROM subject s WHERE s.cluster = r.cluster AND s.id = r.subject)) +
(SELECT count(*) FROM report r WHERE r.scope IS NOT NULL
 AND NOT EXISTS (SELECT 1 FROM subject s WHERE s.cluster = r.cluster AND s.id = r.scope)) +
(SELECT count(*) FROM result r WHERE NOT EXISTS (SELECT 1 FROM report p WHERE p.cluster = r.cluster AND p.object = r.object)) +
(SELECT count(*) FROM report r WHERE (r.cluster,
 coalesce((SELECT l.created FROM large l WHERE l.cluster = r.cluster AND l.object = r.object), r.object)) NOT IN (SELECT cluster, created FROM object)) +
(SELECT count(*) FROM term_key t WHERE NOT EXISTS (SELECT 1 FROM object o WHERE o.cluster = t.cluster AND o.resource = t.resource AND o.key = t.key
 AND instr(o.terms, unhex(printf('%016x', t.term))) % 8 = 1)) +
(SELECT abs(coalesce(sum(length(terms)), 0) / 8 - (SELECT count(*) FROM term_key)) FROM object)`)
		return err
	})
	return n, err
}

// ErrScanCancelled is the cause that ScanWhile ends its context with.
var ErrScanCancelled = errors.New("enough")

// ScanWhile scans without end and ends its context after the first row.
func (e *Engine) ScanWhile(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return e.read(ctx, func(s *snapshot) error {
		return s.scan(func([]driver.Value) error {
			cancel(ErrScanCancelled)
			return nil
		}, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
	})
}

// HoldReaders takes the connections of ordinary reads until release is called.
func (e *Engine) HoldReaders() (release func()) {
	var held []*conn
	for range e.readers.count {
		held = append(held, <-e.readers.conns)
	}
	return func() {
		for _, c := range held {
			e.readers.conns <- c
		}
	}
}

// EnterLate enters all late results into the index of verdicts.
func (e *Engine) EnterLate(ctx context.Context) error { return e.enter(ctx, 0) }

// SettleDown does what an idle engine does when it has noted that it is idle.
func (e *Engine) SettleDown(ctx context.Context) error {
	noted := int64(-1)
	return errors.Join(e.settleDown(ctx, &noted), e.settleDown(ctx, &noted))
}

// ShrinkIdle does what happens each idleTime, and returns how many statements connections have then.
func (e *Engine) ShrinkIdle() (statements int) {
	e.shrinkIdle()
	for range e.urgent.count {
		c := <-e.urgent.conns
		statements += len(c.stmts)
		e.urgent.conns <- c
	}
	w := <-e.writer
	statements += len(w.conn.stmts)
	e.writer <- w
	return statements
}
