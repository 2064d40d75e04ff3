// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Advisory locks are pairs of numbers. The first says that a lock is Docket's,
// the second what it is about: the schema, or one kind of work on a cluster. They
// end with a transaction: a session may be somebody else's after it.
const (
	lockSpace    int32 = 0x646f636b // "dock"
	schemaNumber int32 = 0
	tryNumber    int32 = -1 // Of no work: see checkLocks.

	// work on cluster N has the number workKinds*N + kind; ids start at 1.
	workKinds         int32 = 4
	workCompact       int32 = 1
	workTidy          int32 = 2
	maxLockableNumber       = 1<<31 - 1
)

// alone does work in a transaction while no other process does work of that kind on the cluster,
// and nothing when another one does.
func (e *Engine) alone(ctx context.Context, kind int32, work func(tx pgx.Tx) error) (done bool, err error) {
	if err := e.writable(); err != nil {
		return false, err
	}
	err = e.chores.AcquireFunc(ctx, func(pooled *pgxpool.Conn) error {
		return e.inTransaction(ctx, pooled.Conn(), e.writerSettings(), func(tx pgx.Tx) error {
			number := int32((int64(e.cluster)*int64(workKinds) + int64(kind)) % maxLockableNumber)
			if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, $2)`, lockSpace, number).Scan(&done); err != nil || !done {
				return err
			}
			return work(tx)
		})
	})
	return done, err
}
