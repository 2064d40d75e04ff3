// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// notifyPause is the time between notifications of one process, so that one announces many commits.
const notifyPause = 5 * time.Millisecond

// notifySQL tells other processes of commits, in a transaction of its own that waits for no disk. Why not in the
// transaction of the commit: PostgreSQL lets one transaction of all databases of a server commit at a time that
// notifies somebody, and would do so here while it waits for the disk, so that clusters would wait for each other.
const notifySQL = `BEGIN; SET LOCAL synchronous_commit = off; `

// notifier tells other processes of commits of this one.
type notifier struct {
	chores *pgxpool.Pool
	// statement notifies, in one round trip.
	statement string
	news      <-chan struct{}
}

func (e *Engine) newNotifier() *notifier {
	statement := notifySQL + `NOTIFY ` + pgx.Identifier{channel(e.cluster)}.Sanitize() + `; COMMIT`
	return &notifier{chores: e.chores, statement: statement, news: e.news}
}

// run tells of commits until the engine is closed.
func (n *notifier) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.news:
		}
		// What fails here fails in commits as well, which say so. Their own connection has better to do.
		_ = n.chores.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
			_, err := conn.Conn().PgConn().Exec(ctx, n.statement).ReadAll()
			return err
		})
		if pause(ctx, notifyPause) != nil {
			return
		}
	}
}
