// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"

	"github.com/docket-project/docket/internal/store/engine"
)

// Statements about formats, by the primary key of revision but for the one about a file that nobody opened.
const (
	selectDemands = "SELECT min_reader, min_writer FROM revision WHERE cluster = ?"
	raiseReader   = "UPDATE revision SET min_reader = ?2 WHERE cluster = ?1 AND min_reader < ?2 AND min_writer <= ?2"
	hasDemands    = "SELECT count(*) FROM pragma_table_info('revision') WHERE name = 'min_reader'"
	maxDemand     = "SELECT coalesce(max(min_reader), 0) FROM revision"
)

// heed refuses a cluster that this program can't read, and notes whether it may write it and that it does. Nobody else
// uses the file.
func (e *Engine) heed(c *conn) error {
	var demands engine.Demands
	_, err := c.one(into(&demands.Reader, &demands.Writer), selectDemands, e.cluster)
	if err == nil {
		err = demands.Readable()
	}
	if err != nil {
		return err
	}
	e.demands = demands
	_, err = c.exec(raiseReader, e.cluster, int64(engine.WritesFormat))
	e.demands.Reader = max(demands.Reader, engine.WritesFormat)
	return err
}

// readable refuses a file of which this program can't read all.
func readable(ctx context.Context, c *conn, path string) error {
	var demands engine.Demands
	there, err := c.number(ctx, hasDemands)
	if err == nil && there > 0 {
		var reader int64
		reader, err = c.number(ctx, maxDemand)
		demands.Reader = engine.Format(reader)
	}
	if err != nil {
		return classify("read the format of "+path, err)
	}
	if err := demands.Readable(); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return nil
}

// Beat implements engine.Engine: the lock keeps other processes out.
func (e *Engine) Beat(ctx context.Context, _ engine.Derivation, _ engine.Revision) (engine.Fleet, error) {
	return engine.Fleet{Replicas: 1, Leads: true, Demands: e.demands}, e.usable(ctx)
}
