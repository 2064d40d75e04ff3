// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// Statements of reads.
const (
	// Primary keys of revision and object, the index of a resource's name. One statement is one snapshot, so that Get
	// needs no transaction; that is why it looks the resource up, too.
	selectOne = `SELECT r.revision, r.compacted, r.incarnation,
o.key, o.revision, o.created, o.expires_at, o.size, o.codec, o.data
FROM revision r LEFT JOIN object o
ON o.cluster = r.cluster AND o.resource = (SELECT id FROM resource WHERE name = ?2) AND o.key = ?3 WHERE r.cluster = ?1`
	// Primary key of total: one row, or one for each resource.
	selectTotal = "SELECT objects, bytes FROM total WHERE cluster = ? AND resource = ?"
	sumResults  = "SELECT sum(results) FROM total WHERE cluster = ?"
	// object_expires; the resource by its row id.
	selectExpired = `SELECT r.name, o.key, o.revision, o.created, o.expires_at FROM object o INDEXED BY object_expires
CROSS JOIN resource r ON r.id = o.resource WHERE o.cluster = ? AND o.expires_at > 0 AND o.expires_at < ? ORDER BY o.expires_at LIMIT ?`
)

// snapshot is a read transaction.
type snapshot struct {
	*conn
	ctx    context.Context //nolint:containedctx // a snapshot lives within one call
	engine *Engine
	counters
}

// read runs f on a connection of its own, in a transaction that sees one state of the database.
func (e *Engine) read(ctx context.Context, f func(s *snapshot) error) error {
	return e.borrow(ctx, func(c *conn) error { return e.readOn(ctx, c, f) })
}

// readOn is read on a given connection.
func (e *Engine) readOn(ctx context.Context, c *conn, f func(s *snapshot) error) (err error) {
	if _, err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		_, end := c.exec("COMMIT")
		err = errors.Join(err, end)
	}()
	s := &snapshot{conn: c, ctx: ctx, engine: e}
	if s.counters, err = readCounters(c, e.cluster); err != nil {
		return err
	}
	return f(s)
}

// borrow hands a reading connection to f when one is free.
func (e *Engine) borrow(ctx context.Context, f func(c *conn) error) error {
	p := e.pool(ctx)
	c, err := take(ctx, e, p.conns)
	if err != nil {
		return err
	}
	defer func() { p.conns <- c }()
	return f(c)
}

// take takes a connection from its channel when one is free. The caller puts it back.
func take[T any](ctx context.Context, e *Engine, free chan T) (token T, err error) {
	if err := e.usable(ctx); err != nil {
		return token, err
	}
	select {
	case token = <-free:
		if err = e.usable(ctx); err != nil {
			free <- token
		}
		return token, err
	case <-ctx.Done():
		return token, context.Cause(ctx)
	case <-e.closing:
		return token, engine.ErrClosed
	}
}

// checkEvery is the number of rows after which a long scan asks whether it is still wanted.
const checkEvery = 128

// scan is conn.query for answers that may be long: it ends with its context and with the engine.
func (s *snapshot) scan(each func(row []driver.Value) error, query string, args ...any) error {
	n := 0
	return s.query(s.ctx, func(row []driver.Value) error {
		if n++; n%checkEvery == 0 {
			if err := s.engine.usable(s.ctx); err != nil {
				return err
			}
		}
		return each(row)
	}, query, args...)
}

// resource returns the id of a resource, 0 when nothing of it was ever stored.
func (e *Engine) resource(c *conn, name engine.Resource) (int64, error) {
	if id, ok := e.resources.Load(name); ok {
		return id.(int64), nil
	}
	id, err := c.number(context.Background(), selectResource, string(name))
	if err == nil && id != 0 {
		e.resources.Store(name, id)
	}
	return id, err
}

// Get implements engine.Engine.
func (e *Engine) Get(ctx context.Context, resource engine.Resource, key string) (*engine.Row, engine.State, error) {
	var out *engine.Row
	var state engine.State
	err := e.borrow(ctx, func(c *conn) error {
		_, err := c.one(func(row []driver.Value) {
			scan(row, &state.Revision, &state.Compacted, &state.Incarnation)
			if object := row[3:]; object[0] != nil {
				out = &engine.Row{}
				scan(object, fields(out)...)
			}
		}, selectOne, e.cluster, string(resource), key)
		return err
	})
	if err != nil {
		return nil, engine.State{}, classify(fmt.Sprintf("get %s%s", resource, key), err)
	}
	return out, state, nil
}

// State implements engine.Engine.
func (e *Engine) State(ctx context.Context) (engine.State, error) {
	var c counters
	err := e.borrow(engine.Urgent(ctx), func(conn *conn) (err error) {
		c, err = readCounters(conn, e.cluster)
		return err
	})
	return c.state, classify("read the state", err)
}

// Stats implements engine.Engine.
func (e *Engine) Stats(ctx context.Context, resource engine.Resource) (engine.Stats, error) {
	var stats engine.Stats
	err := e.borrow(ctx, func(c *conn) error {
		id, err := e.resource(c, resource)
		if err != nil {
			return err
		}
		_, err = c.one(into(&stats.Objects, &stats.Bytes), selectTotal, e.cluster, id)
		return err
	})
	return stats, classify(fmt.Sprintf("stats of %s", resource), err)
}

// Expired implements engine.Engine.
func (e *Engine) Expired(ctx context.Context, limit int) ([]engine.ResourceRow, error) {
	var out []engine.ResourceRow
	err := e.borrow(ctx, func(c *conn) error {
		return c.query(ctx, func(row []driver.Value) error {
			var expired engine.ResourceRow
			scan(row, &expired.Resource, &expired.Key, &expired.Revision, &expired.Created, &expired.ExpiresAt)
			out = append(out, expired)
			return nil
		}, selectExpired, e.cluster, e.now().Unix(), int64(limit))
	})
	return out, classify("read what has expired", err)
}

// Usage implements engine.Engine.
func (e *Engine) Usage(ctx context.Context) (engine.Usage, error) {
	var usage engine.Usage
	err := e.read(ctx, func(s *snapshot) (err error) {
		if usage.Results, err = s.number(ctx, sumResults, e.cluster); err != nil {
			return err
		}
		// Revision 1 is no change, so it has no event.
		first := max(s.state.Compacted, 1) + 1
		usage.Events = int64(s.state.Revision - first + 1)
		oldest, err := s.eventSums(first)
		if err != nil {
			return err
		}
		if oldest != nil {
			usage.Oldest = time.UnixMilli(oldest.time)
			usage.HistoryBytes = s.historyBytes - oldest.bytesBefore
		}
		return nil
	})
	if err == nil {
		usage.DatabaseBytes, err = e.fileBytes()
	}
	return usage, classify("read usage", err)
}

// fileBytes is the size of the database with its log.
func (e *Engine) fileBytes() (int64, error) {
	info, err := os.Stat(e.path)
	if err != nil {
		return 0, err
	}
	bytes := info.Size()
	if info, err := os.Stat(e.path + "-wal"); err == nil {
		bytes += info.Size()
	}
	return bytes, nil
}
