// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"

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
func (s *asked) turn(ctx context.Context, cluster string) error {
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
func (e *Engine) Clusters(ctx context.Context, kinds []engine.ReportKind) ([]engine.Cluster, error) {
	var clusters []engine.Cluster
	err := e.ask(ctx, "list the clusters", "", func(ctx context.Context, s *asked) error {
		rows, err := s.tx.Query(ctx, clustersSQL, engine.ResourceNames(kinds))
		if err != nil {
			return err
		}
		clusters, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c engine.Cluster, err error) {
			return c, row.Scan(&c.Name, &c.FirstSeen, &c.Changed, &c.Reports, &c.Results, &c.Servers)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return clusters, nil
}
