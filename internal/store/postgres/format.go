// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/rand"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	demandsSQL = `SELECT min_reader, min_writer FROM ` + newestCounter + ` r`

	// beatSQL runs behind lockCounterSQL: of two processes one sees the other's row, or the other sees the format that
	// it allowed. $2 is the process, $3 what it reads, $4 what it derives, $5 what it writes, $6 what it needs.
	beatSQL = `
WITH beat AS (
	INSERT INTO docket.replica AS r (cluster, id, reads, derives, needs, seen) VALUES ($1, $2, $3, $4, $6, clock_timestamp())
	ON CONFLICT (cluster, id) DO UPDATE SET derives = excluded.derives, needs = excluded.needs, seen = excluded.seen
), gone AS (
	DELETE FROM docket.replica WHERE cluster = $1 AND id <> $2 AND seen < clock_timestamp() - interval '1 hour'
), others AS MATERIALIZED (
	SELECT * FROM docket.replica WHERE cluster = $1 AND id <> $2 AND seen > clock_timestamp() - interval '1 minute'
), raised AS (
	UPDATE docket.revision SET min_reader = $5
	WHERE cluster = $1 AND min_reader < $5 AND min_writer <= $5 AND NOT EXISTS (SELECT FROM others WHERE reads < $5)
	RETURNING min_reader
)
SELECT coalesce((SELECT min_reader FROM raised), r.min_reader), r.min_writer, (SELECT count(*) FROM others) + 1,
	NOT EXISTS (SELECT FROM others WHERE derives > $4 OR derives = $4 AND id < $2),
	coalesce((SELECT min(needs) FROM others WHERE needs > 0), 0)
FROM ` + newestCounter + ` r`

	leaveSQL = `DELETE FROM docket.replica WHERE cluster = $1 AND id = $2`
)

// membership is this process as one of the cluster's replicas.
type membership struct {
	// replica names this process.
	replica string
	// demands are what the cluster demanded of programs when they were last read.
	demands atomic.Pointer[engine.Demands]
}

// newReplica returns the name of a process.
func newReplica() string { return rand.Text() }

// Beat implements engine.Engine.
func (e *Engine) Beat(ctx context.Context, derives engine.Derivation, needs engine.Revision) (engine.Fleet, error) {
	var fleet engine.Fleet
	err := e.writeAnyway(ctx, "tell that this replica lives", func(ctx context.Context, conn session) error {
		return e.underCounter(ctx, conn, func(pipeline *pgx.Batch) {
			pipeline.Queue(beatSQL, e.cluster, e.replica, engine.ReadsFormat, derives, engine.WritesFormat, needs).QueryRow(func(row pgx.Row) error {
				return noCounter(row.Scan(&fleet.Demands.Reader, &fleet.Demands.Writer, &fleet.Replicas, &fleet.Leads, &fleet.Needs))
			})
		})
	})
	if err != nil {
		return engine.Fleet{}, err
	}
	return fleet, e.heed(fleet.Demands)
}

// heed notes whether this program may write, and returns an error if it may not even read.
func (m *membership) heed(demands engine.Demands) error {
	m.demands.Store(&demands)
	return demands.Readable()
}

// askDemands reads what the cluster demands now.
func (e *Engine) askDemands(ctx context.Context, conn session) error {
	var demands engine.Demands
	if err := conn.QueryRow(ctx, demandsSQL, e.cluster).Scan(&demands.Reader, &demands.Writer); err != nil {
		return noCounter(err)
	}
	return e.heed(demands)
}

// writable returns an error if this program may not write.
func (m *membership) writable() error {
	if demands := m.demands.Load(); demands != nil {
		return demands.Writable()
	}
	return nil
}

// leave takes this process from those that live. Where that fails its minute ends soon.
func (e *Engine) leave(ctx context.Context) {
	_ = e.writeAnyway(ctx, "leave", func(ctx context.Context, conn session) error {
		_, err := conn.Exec(ctx, leaveSQL, e.cluster, e.replica)
		return err
	})
}
