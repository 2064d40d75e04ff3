// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	selectReadable = "SELECT c.id, r.min_reader FROM cluster AS c JOIN revision AS r ON r.cluster = c.id WHERE c.name = ?"

	// selectKnown has the names of resources as parameter ?1, as JSON, and the cluster that is served as ?2. A cluster's newest
	// event is the last one by the primary key.
	selectKnown = `SELECT c.name, c.created_at,
coalesce((SELECT e.committed_at FROM event AS e WHERE e.cluster = c.id ORDER BY e.revision DESC LIMIT 1), 0),
(SELECT coalesce(sum(t.objects), 0) FROM resource AS r JOIN total AS t ON t.cluster = c.id AND t.resource = r.id WHERE r.name IN (SELECT value FROM json_each(?1))),
(SELECT coalesce(sum(t.results), 0) FROM total AS t WHERE t.cluster = c.id), c.id = ?2
FROM cluster AS c ORDER BY c.name`
)

// turn makes a cluster the one that is asked about.
func (s *asked) turn(cluster string) error {
	var demands engine.Demands
	found, err := s.one(into(&s.cluster, &demands.Reader), selectReadable, cluster)
	switch {
	case err != nil:
		return err
	case !found:
		return engine.UnknownCluster(cluster)
	}
	if err := demands.Readable(); err != nil {
		return err
	}
	s.counters, err = readCounters(s.conn, s.cluster)
	return err
}

// Clusters implements engine.Questions. One process has the file, and serves one cluster.
func (e *Engine) Clusters(ctx context.Context, kinds []engine.ReportKind) ([]engine.Cluster, error) {
	list, err := json.Marshal(engine.ResourceNames(kinds))
	if err != nil {
		return nil, err
	}
	var clusters []engine.Cluster
	err = e.ask(ctx, "", func(s *asked) error {
		return s.query(s.ctx, func(row []driver.Value) error {
			var c engine.Cluster
			var seen, changed, served int64
			scan(row, &c.Name, &seen, &changed, &c.Reports, &c.Results, &served)
			c.FirstSeen, c.Servers = time.UnixMilli(seen), int(served)
			if changed != 0 {
				c.Changed = time.UnixMilli(changed)
			}
			clusters = append(clusters, c)
			return nil
		}, selectKnown, string(list), s.cluster)
	})
	if err != nil {
		return nil, classify("list the clusters", err)
	}
	return clusters, nil
}
