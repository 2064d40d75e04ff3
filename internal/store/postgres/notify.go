// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
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

// announce has other processes told of a commit soon. One that is not told, since this process dies before, looks by
// itself.
func (e *Engine) announce() {
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// notify tells other processes of commits, until the engine is closed. It is a goroutine that Open starts.
func (e *Engine) notify() {
	defer close(e.notifier)
	statement := notifySQL + `NOTIFY ` + pgx.Identifier{channel(e.cluster)}.Sanitize() + `; COMMIT`
	for {
		select {
		case <-e.life.Done():
			return
		case <-e.news:
		}
		// What fails here fails in commits as well, which say so. Their own connection has better to do.
		_ = e.chores.AcquireFunc(e.life, func(conn *pgxpool.Conn) error {
			_, err := conn.Conn().PgConn().Exec(e.life, statement).ReadAll()
			return err
		})
		if pause(e.life, notifyPause) != nil {
			return
		}
	}
}
