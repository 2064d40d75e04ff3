// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Advisory locks are pairs of numbers. The first says that a lock is Docket's,
// the second what it is about: the schema, or one kind of work on a cluster.
const (
	lockSpace  int32 = 0x646f636b // "dock"
	lockSchema int32 = 0

	// work on cluster N has the number workKinds*N + kind; ids start at 1.
	workKinds         int32 = 4
	workCompact       int32 = 1
	workTidy          int32 = 2
	maxLockableNumber       = 1<<31 - 1
)

// alone does work while no other process does work of that kind on the cluster,
// and nothing when another one does. The lock belongs to the connection and ends
// with it at the latest.
func (e *Engine) alone(ctx context.Context, kind int32, work func(conn *pgx.Conn) error) error {
	pooled, err := e.writes.Acquire(ctx)
	if err != nil {
		return err
	}
	defer pooled.Release()
	conn := pooled.Conn()
	number := int32((int64(e.cluster)*int64(workKinds) + int64(kind)) % maxLockableNumber)
	var locked bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, $2)`, lockSpace, number).Scan(&locked); err != nil {
		return err
	}
	if !locked {
		return nil
	}
	err = work(conn)
	if _, unlockErr := conn.Exec(ctx, `SELECT pg_advisory_unlock($1, $2)`, lockSpace, number); unlockErr != nil {
		// The lock ends with the session, which must not go back to the pool.
		_ = conn.Close(context.WithoutCancel(ctx))
		if err == nil {
			err = fmt.Errorf("give an advisory lock back: %w", unlockErr)
		}
	}
	return err
}
