// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// A role that sees one cluster only finds no other.
	clusterSQL = `SELECT c.id, r.min_reader FROM docket.cluster c JOIN docket.revision r ON r.cluster = c.id WHERE c.name = $1 ORDER BY r.generation DESC LIMIT 1`

	// clustersSQL has the names of resources as $1.
	clustersSQL = `SELECT c.name, c.created_at, r.committed_at,
	(SELECT coalesce(sum(t.objects), 0)::int8 FROM docket.total t JOIN docket.resource r ON r.id = t.resource WHERE t.cluster = c.id AND r.name = ANY($1)),
	(SELECT coalesce(sum(t.results), 0)::int8 FROM docket.total t WHERE t.cluster = c.id),
	(SELECT count(*) FROM docket.replica p WHERE p.cluster = c.id AND p.seen > clock_timestamp() - interval '1 minute')
FROM docket.cluster c JOIN docket.revision r ON r.cluster = c.id ORDER BY c.name COLLATE "C"`
)

// turn makes a cluster the one that is asked about.
func (s *resultReader) turn(ctx context.Context, cluster string) error {
	if !isText(cluster) {
		return engine.UnknownCluster(cluster)
	}
	var demands engine.Demands
	switch err := s.tx.QueryRow(ctx, clusterSQL, cluster).Scan(&s.cluster, &demands.Reader); {
	case errors.Is(err, pgx.ErrNoRows):
		return engine.UnknownCluster(cluster)
	case err != nil:
		return err
	}
	if err := demands.Readable(); err != nil {
		return err
	}
	return s.look(ctx)
}

// Clusters implements engine.Questions.
func (e *Engine) Clusters(ctx context.Context, kinds []engine.ReportKind) (clusters []engine.Cluster, err error) {
	err = e.ask(ctx, "list the clusters", "", func(ctx context.Context, s *resultReader) error {
		rows, err := s.tx.Query(ctx, clustersSQL, engine.ResourceNames(kinds))
		if err != nil {
			return err
		}
		clusters, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c engine.Cluster, err error) {
			return c, row.Scan(&c.Name, &c.FirstSeen, &c.Changed, &c.Reports, &c.Results, &c.Servers)
		})
		return err
	})
	return clusters, err
}

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
