// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

// findCluster returns the id of the engine's cluster, which it makes if it is new, and
// binds to the Kubernetes cluster that uses it.
func (e *Engine) findCluster(ctx context.Context, conn *pgx.Conn) (int32, error) {
	binding := e.options.Binding
	for {
		shares, err := readShares(ctx, conn)
		if err != nil {
			return 0, err
		}
		share, bind, err := binding.Choose(shares, e.options.Cluster, false)
		switch {
		case err != nil:
			return 0, err
		case share == nil && e.options.Existing:
			return 0, fmt.Errorf("%w: it has no cluster %q", engine.ErrMissing, e.options.Cluster)
		case share == nil:
			err = makeCluster(ctx, conn, e.options.Cluster, binding.UID)
		case bind:
			// Only if nobody else was faster: then it is looked at again.
			_, err = conn.Exec(ctx, `UPDATE docket.cluster SET uid = $1 WHERE id = $2 AND coalesce(uid, '') = $3`, binding.UID, share.ID, share.UID)
		default:
			return int32(share.ID), nil
		}
		if err != nil {
			return 0, fmt.Errorf("make or bind cluster %s: %w", e.options.Cluster, err)
		}
	}
}

func readShares(ctx context.Context, conn *pgx.Conn) ([]engine.Share, error) {
	rows, err := conn.Query(ctx, `SELECT id, name, coalesce(uid, '') FROM docket.cluster ORDER BY id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[engine.Share])
}

// makeCluster makes a cluster, unless somebody else has.
func makeCluster(ctx context.Context, conn *pgx.Conn, name, uid string) error {
	_, err := conn.Exec(ctx, `
WITH made AS (
	INSERT INTO docket.cluster (name, uid) VALUES ($1, nullif($2, '')) ON CONFLICT (name) DO NOTHING RETURNING id
)
INSERT INTO docket.revision (cluster, revision, compacted, incarnation, history_bytes, committed_at, tidied,
	system_identifier, timeline, relation, tallied)
SELECT id, 1, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::int8, 0, clock_timestamp(), 0, 0, 0, 0, 2
FROM made`, name, uid)
	return err
}
