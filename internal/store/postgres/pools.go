// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/docket-project/docket/internal/store/engine"
)

// Sizes of the pools. With the session that listens a process has ten connections at most, two of them only while
// questions are asked, unless MaxConns says otherwise.
const (
	defaultReadConns = 3
	// urgentConns serve engine.Urgent: the state, and the events that watches wait for.
	urgentConns = 2
	// writeConns: one commit at a time takes the counter.
	writeConns = 1
	// choreConns serve housekeeping, whose parts take turns.
	choreConns = 1
)

// pools of connections. Each kind of work has its own, so that much of one doesn't keep another from the database.
type pools struct {
	reads, urgent, writes, chores, questions *pgxpool.Pool
}

// close ends all connections that are not in use, and waits for those that are.
func (p *pools) close() {
	for _, pool := range []*pgxpool.Pool{p.reads, p.urgent, p.writes, p.chores, p.questions} {
		if pool != nil {
			pool.Close()
		}
	}
}

// reading returns the pool for a call that reads.
func (p *pools) reading(ctx context.Context) *pgxpool.Pool {
	if engine.IsUrgent(ctx) {
		return p.urgent
	}
	return p.reads
}

// openPools makes the pools and tries one connection of each that keeps one.
func (e *Engine) openPools(ctx context.Context, config *pgx.ConnConfig) error {
	reads := defaultReadConns
	if e.options.MaxConns > 0 {
		reads = e.options.MaxConns
	}
	for _, p := range []struct {
		pool       **pgxpool.Pool
		size, idle int
		prepare    func(context.Context, *pgx.Conn) error
	}{
		{&e.reads, reads, 1, e.reader(readerSettings())},
		{&e.urgent, urgentConns, 1, e.reader(readerSettings())},
		{&e.writes, writeConns, 1, e.prepareWriter},
		{&e.chores, choreConns, 1, e.prepareWriter},
		{&e.questions, questionConns, 0, e.reader(questionSettings())},
	} {
		var err error
		if *p.pool, err = e.newPool(ctx, config, p.size, p.idle, p.prepare); err != nil {
			e.pools.close()
			return err
		}
	}
	return nil
}

// newPool makes a pool that keeps some connections at hand, and opens others when they are needed.
func (e *Engine) newPool(
	ctx context.Context, conn *pgx.ConnConfig, size, idle int, prepare func(context.Context, *pgx.Conn) error,
) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	config.ConnConfig = conn.Copy()
	if !e.pooled {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	}
	config.MaxConns = int32(size)
	config.MinIdleConns = int32(idle)
	config.PingTimeout = dialTimeout
	config.BeforeConnect = e.refreshPassword
	config.AfterConnect = prepare
	config.BeforeClose = func(c *pgx.Conn) { e.pids.Delete(c.PgConn().PID()) }
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if idle == 0 {
		return pool, nil
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}
