// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/docket-project/docket/internal/store/engine"
)

var _ engine.Poller = (*Engine)(nil)

// Polls implements engine.Poller.
func (e *Engine) Polls() bool { return e.pooled }

// poolerRounds is how often the sessions of two connections are compared. One round finds a pooler that has nothing
// else to do; others may take and give back sessions in between.
const poolerRounds = 8

// sessionSQL identifies the server's session that runs it. Process IDs are reused.
const sessionSQL = `SELECT pid || ' ' || backend_start FROM pg_stat_get_activity(pg_backend_pid())`

// compareSessions opens a second connection, finds out whether a pooler shares sessions, and checks that their locks
// hold.
func (e *Engine) compareSessions(ctx context.Context, config *pgx.ConnConfig, conn *pgx.Conn) error {
	other, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return fmt.Errorf("connect a second time: %w", err)
	}
	defer func() { _ = other.Close(context.WithoutCancel(ctx)) }()
	if err := withSecondSession(ctx, other.Ping); err != nil {
		return err
	}
	if e.pooled, err = sharesSessions(ctx, conn, other); err != nil {
		return err
	}
	return withSecondSession(ctx, func(ctx context.Context) error { return checkLocks(ctx, conn, other) })
}

// sharesSessions reports whether a pooler hands the transactions of one connection to several sessions of the server:
// then a connection finds itself in another session than before, or two that are open find themselves in the same one.
func sharesSessions(ctx context.Context, conn, other *pgx.Conn) (shares bool, err error) {
	var first [2]string
	for range poolerRounds {
		for i, c := range []*pgx.Conn{conn, conn, other, other} {
			var name string
			if err := c.QueryRow(ctx, sessionSQL).Scan(&name); err != nil {
				return false, fmt.Errorf("compare the sessions of two connections: %w", err)
			}
			known := &first[i/2]
			if *known == "" {
				*known = name
			}
			if name != *known || first[0] == first[1] {
				return true, nil
			}
		}
	}
	return false, nil
}

// withSecondSession does what needs two sessions at a time. If the second one is not available in time, the error says
// that the pooler has too few.
func withSecondSession(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	err := work(ctx)
	if err == nil || !timedOut(err) {
		return err
	}
	return &openError{
		"no answer in time over a second connection while there is one: if a pooler is in between, " +
			"let it have 8 sessions for each replica, or 2 at least in transaction mode (default_pool_size of PgBouncer)",
		[]error{engine.ErrUnavailable, err},
	}
}

// movedMark is in the message of the error that beginSQL makes.
const movedMark = "docket: another server, or another isolation: "

// Isolation of transactions, as the server calls it.
const (
	readCommitted  = "read committed"
	repeatableRead = "repeatable read"
)

// beginSQL begins what a pooler hands to any session: it sets $1 to $2 for the transaction, and ends it with an error
// unless the server is the one that verify knew ($3 to $5). A new session would have verified that; here there is
// none that anybody sees. The isolation must be that which is expected, too. What can't be a number makes the error.
func beginSQL(id *identity, isolation string) string {
	system, timeline := `0::int8`, `0::int4`
	if id.maySystem {
		system = `(` + systemSQL + `)`
	}
	if id.mayTimeline {
		timeline = `CASE WHEN pg_is_in_recovery() THEN -1 ELSE (` + timelineSQL + `) END`
	}
	return `SELECT count(set_config(s.name, s.value, true)), CASE
	WHEN ` + system + ` = $3::int8 AND ` + timeline + ` = $4::int4 AND (` + relationSQL + `) = $5::int8
		AND current_setting('transaction_isolation') = '` + isolation + `' THEN 0
	ELSE ('` + movedMark + `' || pg_backend_pid())::int4 END
FROM unnest($1::text[], $2::text[]) AS s(name, value)`
}

// isMoved reports whether an error is that of beginSQL. Nothing was done then.
func isMoved(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && strings.Contains(server.Message, movedMark)
}

// beginTransaction returns beginSQL with its arguments.
func (e *Engine) beginTransaction(s settings, isolation string) (sql string, args []any) {
	names, values := s.columns()
	id := e.identity.Load()
	return beginSQL(id, isolation), []any{names, values, id.system, id.timeline, id.relation}
}

// session is where statements go, with the settings that they need.
type session interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// session returns the connection itself if it is a session of the server, which was prepared.
func (e *Engine) session(conn *pgx.Conn, s settings) session {
	if !e.pooled {
		return conn
	}
	return &pooledSession{engine: e, conn: conn, settings: s}
}

// inTransaction runs work in one transaction; others may have the session before and after it.
func (e *Engine) inTransaction(ctx context.Context, conn *pgx.Conn, s settings, work func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if e.pooled {
			sql, args := e.beginTransaction(s, readCommitted)
			_, err := tx.Exec(ctx, sql, args...)
			if isMoved(err) {
				return fmt.Errorf("%w: %w", engine.ErrUnavailable, errMoved) // The next read or write looks what it is.
			}
			if err != nil {
				return err
			}
		}
		return work(tx)
	})
}

// pooledSession is a connection through a pooler that shares sessions: each call is one round trip and one
// transaction, which begins with beginSQL.
type pooledSession struct {
	engine   *Engine
	conn     *pgx.Conn
	settings settings
}

// SendBatch implements session. What begins the transaction has the first result; its error is that of all.
func (p *pooledSession) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	var whole pgx.Batch
	sql, args := p.engine.beginTransaction(p.settings, readCommitted)
	whole.Queue(sql, args...)
	whole.QueuedQueries = append(whole.QueuedQueries, b.QueuedQueries...)
	results := p.conn.SendBatch(ctx, &whole)
	_, _ = results.Exec()
	return results
}

// Exec implements session.
func (p *pooledSession) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	rows, err := p.Query(ctx, sql, args...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	rows.Close()
	return rows.CommandTag(), rows.Err()
}

// Query implements session.
func (p *pooledSession) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	var b pgx.Batch
	b.Queue(sql, args...)
	results := p.SendBatch(ctx, &b)
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // Has the same error.
		return rows, err
	}
	return &pooledRows{Rows: rows, results: results}, nil
}

// QueryRow implements session.
func (p *pooledSession) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := p.Query(ctx, sql, args...)
	return &pooledRow{rows, err}
}

// pooledRows are rows whose end is the transaction's.
type pooledRows struct {
	pgx.Rows

	results pgx.BatchResults
	err     error
}

// Next implements pgx.Rows.
func (r *pooledRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Close implements pgx.Rows.
func (r *pooledRows) Close() {
	r.Rows.Close()
	r.err = r.results.Close()
}

// Err implements pgx.Rows.
func (r *pooledRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

// pooledRow is the first of rows.
type pooledRow struct {
	rows pgx.Rows
	err  error
}

// Scan implements pgx.Row.
func (r *pooledRow) Scan(targets ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(targets...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
