// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"

	sqlite3 "modernc.org/sqlite"
)

// conn is a connection with its prepared statements. It works on the driver directly: package database/sql takes longer
// for its locks and conversions than SQLite for a row. Not safe for concurrent use.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
	// used is for shrink.
	used bool
}

// dataSource names a file so that no character of its path means anything.
func dataSource(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath()
}

// connect opens a connection and runs the pragmas on it.
func connect(path string, pragmas ...string) (*conn, error) {
	raw, err := (&sqlite3.Driver{}).Open(dataSource(path))
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: map[string]driver.Stmt{}}
	for _, pragma := range pragmas {
		if _, err := c.pragma(pragma); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// close ends the connection and its statements.
func (c *conn) close() error {
	return errors.Join(c.forget(), c.raw.Close())
}

// forget ends all statements.
func (c *conn) forget() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	clear(c.stmts)
	return errors.Join(errs...)
}

// maxStatements bounds the prepared statements of a connection. Queries are constants or made of constant parts, but
// there are many ways to put the parts together.
const maxStatements = 256

// limit finds limits that are arguments. SQLite plans a statement with the value of such a limit, and again whenever it
// is bound, unless the limit is an expression.
var limit = regexp.MustCompile(`LIMIT (\?\d*)`)

// prepare returns the statement of a query.
func (c *conn) prepare(query string) (driver.Stmt, error) {
	c.used = true
	if stmt, ok := c.stmts[query]; ok {
		return stmt, nil
	}
	if len(c.stmts) >= maxStatements {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	stmt, err := c.raw.Prepare(limit.ReplaceAllString(query, "LIMIT CAST($1 AS INTEGER)"))
	if err != nil {
		return nil, err
	}
	c.stmts[query] = stmt
	return stmt, nil
}

// pragma runs a pragma and returns the columns of its first row, if any. It is
// prepared again each time, because many pragmas work while they are prepared.
func (c *conn) pragma(query string) (columns []driver.Value, err error) {
	rows, err := c.raw.(driver.QueryerContext).QueryContext(context.Background(), query, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	columns = make([]driver.Value, len(rows.Columns()))
	if err = rows.Next(columns); errors.Is(err, io.EOF) {
		columns, err = nil, nil
	}
	for err == nil && columns != nil {
		// Some work a step for each row.
		err = rows.Next(make([]driver.Value, len(columns)))
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, rows.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	return columns, nil
}

// pragmaNumber runs a pragma that answers with an integer.
func (c *conn) pragmaNumber(query string) (int64, error) {
	columns, err := c.pragma(query)
	if err != nil || len(columns) == 0 {
		return 0, err
	}
	n, _ := columns[0].(int64)
	return n, nil
}

// bind puts args into the connection's argument list. SQLite copies what it keeps.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, arg := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return c.args
}

// exec runs a statement to its end and returns how many rows it changed.
// Arguments are int64, float64, string, []byte or nil.
func (c *conn) exec(query string, args ...any) (int64, error) {
	stmt, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// errStop ends a scan early and is not returned.
var errStop = errors.New("stop")

// query hands each row of the answer to scan. Values are int64, string, []byte or nil; the byte slices belong to scan,
// the slice of values does not. SQLite is interrupted when ctx ends before the first row.
func (c *conn) query(ctx context.Context, scan func(row []driver.Value) error, query string, args ...any) error {
	stmt, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(ctx, c.bind(args))
	if err != nil {
		return err
	}
	values := make([]driver.Value, len(rows.Columns()))
	for {
		if err = rows.Next(values); err == nil {
			err = scan(values)
		}
		if err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, errStop) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// one hands the first row of a short answer to scan and reports whether there was one.
func (c *conn) one(scan func(row []driver.Value), query string, args ...any) (bool, error) {
	found := false
	err := c.query(context.Background(), func(row []driver.Value) error {
		found = true
		scan(row)
		return errStop
	}, query, args...)
	return found, err
}

// number returns the one integer that a query answers with; 0 for null.
func (c *conn) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = c.query(ctx, func(row []driver.Value) error {
		n, _ = row[0].(int64)
		return errStop
	}, query, args...)
	return n, err
}

// text returns a column that may be null as a string.
func text(v driver.Value) string {
	s, _ := v.(string)
	return s
}
