// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// listenCheck is how often a silent session is asked whether it still lives.
	listenCheck = 20 * time.Second
	// listenBackoff and its double, and so on, lie between attempts to listen.
	listenBackoff    = 50 * time.Millisecond
	listenBackoffMax = 5 * time.Second
)

// listener keeps a session that hears of commits of other processes.
type listener struct {
	config  *pgx.ConnConfig
	channel string
	// refresh reads the password again before a session is opened.
	refresh func(context.Context, *pgx.ConnConfig) error
	// verify refuses another database than the engine's.
	verify func(context.Context, *pgx.Conn) error
	// own are the backends whose notifications are no news, and heard is called for all others.
	own   *sync.Map
	heard func()
	log   *slog.Logger
}

func (e *Engine) newListener(config *pgx.ConnConfig) *listener {
	return &listener{
		config: config, channel: pgx.Identifier{channel(e.cluster)}.Sanitize(), refresh: e.refreshPassword,
		verify: func(ctx context.Context, conn *pgx.Conn) error { return e.verify(ctx, conn) },
		own:    &e.pids, heard: e.signal, log: e.log,
	}
}

// run listens until the engine is closed.
func (l *listener) run(ctx context.Context) {
	wait := listenBackoff
	silent := false
	for ctx.Err() == nil {
		err := l.once(ctx, func() {
			wait = listenBackoff
			if silent {
				silent = false
				l.log.Info("listening for commits of other processes again")
			}
			// Commits may have been missed.
			l.heard()
		})
		if ctx.Err() != nil {
			return
		}
		if !silent {
			silent = true
			l.log.Warn("lost the session that listens for commits of other processes; trying again", "error", classify(err))
		}
		if pause(ctx, wait) != nil {
			return
		}
		wait = min(2*wait, listenBackoffMax)
	}
}

// once listens until the session breaks. It calls listening once the database tells of commits.
func (l *listener) once(ctx context.Context, listening func()) error {
	conn, err := l.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	listening()
	for {
		if err := l.await(ctx, conn); err != nil {
			return err
		}
	}
}

func (l *listener) dial(ctx context.Context) (*pgx.Conn, error) {
	config := l.config.Copy()
	if err := l.refresh(ctx, config); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	err = checkServer(ctx, conn)
	if err == nil {
		err = l.verify(ctx, conn)
	}
	if err == nil {
		_, err = conn.Exec(ctx, `SELECT set_config('application_name', current_setting('application_name') || ' listen', false)`)
	}
	if err == nil {
		_, err = conn.Exec(ctx, `LISTEN `+l.channel)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// await waits for one notification, and wakes the reader of Wake unless this process made the commit. It
// returns an error when the session is broken.
func (l *listener) await(ctx context.Context, conn *pgx.Conn) error {
	waitCtx, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	notification, err := conn.WaitForNotification(waitCtx)
	switch {
	case err == nil:
		if _, own := l.own.Load(notification.PID); !own {
			l.heard()
		}
		return nil
	case ctx.Err() == nil && pgconn.Timeout(err) && !conn.IsClosed():
		pingCtx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return conn.Ping(pingCtx)
	}
	return err
}
