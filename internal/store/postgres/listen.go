// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
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

// listen keeps a session that hears of commits, until the engine is closed. It is the goroutine that Open starts.
func (e *Engine) listen(config *pgx.ConnConfig) {
	defer close(e.listener)
	wait := listenBackoff
	silent := false
	for e.life.Err() == nil {
		err := e.listenOnce(e.life, config, func() {
			wait = listenBackoff
			if silent {
				silent = false
				e.log.Info("listening for commits of other processes again")
			}
			// Commits may have been missed.
			e.signal()
		})
		if e.life.Err() != nil {
			return
		}
		if !silent {
			silent = true
			e.log.Warn("lost the session that listens for commits of other processes; trying again", "error", classify(err))
		}
		if pause(e.life, wait) != nil {
			return
		}
		wait = min(2*wait, listenBackoffMax)
	}
}

// listenOnce listens until the session breaks. It calls listening once the database tells of commits.
func (e *Engine) listenOnce(ctx context.Context, config *pgx.ConnConfig, listening func()) error {
	conn, err := e.dialListener(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	listening()
	for {
		if err := e.awaitNotification(ctx, conn); err != nil {
			return err
		}
	}
}

func (e *Engine) dialListener(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	config = config.Copy()
	if err := e.refreshPassword(ctx, config); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	err = checkServer(ctx, conn)
	if err == nil {
		err = e.verify(ctx, conn)
	}
	if err == nil {
		// The channel's name has a number in it and nothing else.
		_, err = conn.Exec(ctx, `SELECT set_config('application_name', current_setting('application_name') || ' listen', false)`)
	}
	if err == nil {
		_, err = conn.Exec(ctx, `LISTEN `+pgx.Identifier{channel(e.cluster)}.Sanitize())
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// awaitNotification waits for one notification, and wakes the reader of Wake unless this process made the commit. It
// returns an error when the session is broken.
func (e *Engine) awaitNotification(ctx context.Context, conn *pgx.Conn) error {
	waitCtx, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	notification, err := conn.WaitForNotification(waitCtx)
	switch {
	case err == nil:
		if _, own := e.pids.Load(notification.PID); !own {
			e.signal()
		}
		return nil
	case ctx.Err() == nil && pgconn.Timeout(err) && !conn.IsClosed():
		pingCtx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return conn.Ping(pingCtx)
	}
	return err
}
