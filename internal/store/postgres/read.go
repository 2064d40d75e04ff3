// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/docket-project/docket/internal/store/engine"
)

// readTimeout bounds a read with its retries.
const readTimeout = time.Minute

// retryPauses lie between attempts of a call whose connection broke: together longer than a restart of the server takes
// to accept connections again, most of the time.
var retryPauses = [...]time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond}

// begin starts a call: it ends with ctx, after a while, or with the engine.
func (e *Engine) begin(ctx context.Context, timeout time.Duration) (callCtx context.Context, done func(), err error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if e.life.Err() != nil {
		return nil, nil, engine.ErrClosed
	}
	callCtx, cancel := context.WithTimeout(ctx, timeout)
	stop := context.AfterFunc(e.life, cancel)
	return callCtx, func() { stop(); cancel() }, nil
}

// read runs work, which reads a state and more from one snapshot, on a reading connection. It is run again when the
// connection breaks, and when the state lies before what was known already or is of another incarnation: that is not
// the database it was.
func (e *Engine) read(ctx context.Context, what string, work func(ctx context.Context, conn session) (engine.State, error)) error {
	return e.readFrom(ctx, what, e.reading(ctx), func(ctx context.Context, conn *pgx.Conn) (engine.State, error) {
		return work(ctx, e.session(conn, append(readerSettings(), "transaction_read_only", "on")))
	})
}

// readFrom is read on a connection of a given pool.
func (e *Engine) readFrom(
	ctx context.Context, what string, pool *pgxpool.Pool, work func(ctx context.Context, conn *pgx.Conn) (engine.State, error),
) error {
	callCtx, done, err := e.begin(ctx, readTimeout)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer done()
	for attempt := 0; ; attempt++ {
		err := e.readOnce(callCtx, pool, work)
		if err == nil {
			return nil
		}
		if attempt == len(retryPauses) || !isBroken(err) && !errors.Is(err, errStale) {
			return e.fail(ctx, what, err)
		}
		if isBroken(err) {
			pool.Reset()
			if pause(callCtx, retryPauses[attempt]) != nil {
				return e.fail(ctx, what, err)
			}
		}
	}
}

func (e *Engine) readOnce(
	ctx context.Context, pool *pgxpool.Pool, work func(ctx context.Context, conn *pgx.Conn) (engine.State, error),
) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	seen, incarnation := e.seen.Load(), e.incarnation.Load()
	state, err := work(ctx, conn.Conn())
	moved := isMoved(err)
	if err != nil && !moved {
		return err
	}
	if moved || int64(state.Revision) < seen || int64(state.Incarnation) < incarnation {
		return e.writeOnce(ctx, func(context.Context, session) error { return errMoved })
	}
	if !e.sameIncarnation(state.Incarnation) {
		return errStale
	}
	e.note(state.Revision)
	return nil
}

// rowColumns are the columns of an object, in the order of maybeRow.fields.
const rowColumns = `key, revision, created, expires_at, size, codec, data`

// maybeRow is an object on the outer side of a join.
type maybeRow struct {
	key                          *string
	revision, created, expiresAt *int64
	size                         *int32
	codec                        *int16
	data                         []byte
}

func (r *maybeRow) fields() []any {
	return []any{&r.key, &r.revision, &r.created, &r.expiresAt, &r.size, &r.codec, &r.data}
}

func (r *maybeRow) row() engine.Row {
	return engine.Row{
		Key: *r.key, Revision: engine.Revision(*r.revision), Created: engine.Revision(*r.created), ExpiresAt: *r.expiresAt,
		Value: engine.Value{Data: r.data, Codec: uint8(*r.codec), Size: *r.size},
	}
}

// stateColumns are columns of the counter row r, in the order of stateFields.
const stateColumns = `r.revision, r.compacted, r.incarnation, r.gap_after, r.gap_to, r.gap_before`

func stateFields(s *engine.State) []any {
	return []any{&s.Revision, &s.Compacted, &s.Incarnation, &s.Gap.After, &s.Gap.To, &s.Gap.Before}
}

// getSQL reads two rows by their primary keys.
const getSQL = `SELECT ` + stateColumns + `,
	o.key, o.revision, o.created, o.expires_at, o.size, o.codec, o.data
FROM ` + newestCounter + ` r
LEFT JOIN docket.object o ON o.cluster = $1 AND o.resource = $2 AND o.key = $3`

// Get implements engine.Engine.
func (e *Engine) Get(ctx context.Context, resource engine.Resource, key string) (*engine.Row, engine.State, error) {
	var state engine.State
	var found maybeRow
	err := e.read(ctx, "get", func(ctx context.Context, conn session) (engine.State, error) {
		found = maybeRow{}
		var id int16
		var err error
		if id, state, err = e.resource(ctx, conn, resource); err != nil || id == unknownResource {
			return state, err
		}
		if !isText(key) {
			id = unknownResource // Such a key can't exist.
		}
		err = conn.QueryRow(ctx, getSQL, e.cluster, id, text(key)).Scan(append(stateFields(&state), found.fields()...)...)
		return state, noCounter(err)
	})
	if err != nil || found.key == nil {
		return nil, state, err
	}
	row := found.row()
	return &row, state, nil
}

// noCounter explains an answer without a row.
func noCounter(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: counter row of the cluster is missing", engine.ErrCorrupt)
	}
	return err
}

const stateSQL = `SELECT ` + stateColumns + ` FROM ` + newestCounter + ` r`

// State implements engine.Engine.
func (e *Engine) State(ctx context.Context) (engine.State, error) {
	var state engine.State
	err := e.read(engine.Urgent(ctx), "read the state", func(ctx context.Context, conn session) (engine.State, error) {
		err := conn.QueryRow(ctx, stateSQL, e.cluster).Scan(stateFields(&state)...)
		return state, noCounter(err)
	})
	return state, err
}

const statsSQL = `SELECT ` + stateColumns + `, coalesce(t.objects, 0), coalesce(t.bytes, 0)
FROM ` + newestCounter + ` r LEFT JOIN LATERAL (SELECT * ` + newestTotal + `$2` + newestFirst + `) t ON true`

// Stats implements engine.Engine.
func (e *Engine) Stats(ctx context.Context, resource engine.Resource) (engine.Stats, error) {
	var stats engine.Stats
	err := e.read(ctx, "read sums", func(ctx context.Context, conn session) (engine.State, error) {
		id, state, err := e.resource(ctx, conn, resource)
		if err != nil || id == unknownResource {
			return state, err
		}
		err = conn.QueryRow(ctx, statsSQL, e.cluster, id).Scan(append(stateFields(&state), &stats.Objects, &stats.Bytes)...)
		return state, noCounter(err)
	})
	return stats, err
}

// usageSQL reads the first event of history and sums that are kept; the size of
// the database is asked of the file system, which takes longest.
const usageSQL = `SELECT ` + stateColumns + `, pg_database_size(current_database()),
	r.revision - greatest(r.compacted, 1) - greatest(r.gap_to - greatest(r.compacted, r.gap_after), 0), r.history_bytes - coalesce(e.before, r.history_bytes), e.committed_at,
	coalesce((SELECT sum(results) FROM docket.total WHERE cluster = $1), 0)::int8
FROM ` + newestCounter + ` r
LEFT JOIN LATERAL (
	SELECT committed_at, total_bytes - octet_length(key) - coalesce(octet_length(previous_data), 0) - ` + eventOverhead + ` AS before
	FROM docket.event WHERE cluster = $1 AND revision > r.compacted ORDER BY revision LIMIT 1
) e ON true`

// Usage implements engine.Engine.
func (e *Engine) Usage(ctx context.Context) (engine.Usage, error) {
	var usage engine.Usage
	var oldest *time.Time
	err := e.read(ctx, "read usage", func(ctx context.Context, conn session) (engine.State, error) {
		var state engine.State
		err := conn.QueryRow(ctx, usageSQL, e.cluster).Scan(append(stateFields(&state),
			&usage.DatabaseBytes, &usage.Events, &usage.HistoryBytes, &oldest, &usage.Results)...)
		return state, noCounter(err)
	})
	if oldest != nil {
		usage.Oldest = *oldest
	}
	return usage, err
}

// expiredSQL walks the partial index on expires_at.
const expiredSQL = `SELECT ` + stateColumns + `, o.resource, o.key, o.revision, o.created, o.expires_at
FROM ` + newestCounter + ` r
LEFT JOIN LATERAL (
	SELECT resource, key, revision, created, expires_at FROM docket.object
	WHERE cluster = $1 AND expires_at > 0 AND expires_at < floor(extract(epoch FROM statement_timestamp()))::int8
	ORDER BY expires_at LIMIT $2
) o ON true`

// Expired implements engine.Engine.
func (e *Engine) Expired(ctx context.Context, limit int) ([]engine.ResourceRow, error) {
	var found []engine.ResourceRow
	err := e.read(ctx, "read expired objects", func(ctx context.Context, conn session) (engine.State, error) {
		var state engine.State
		rows, err := conn.Query(ctx, expiredSQL, e.cluster, limit)
		if err != nil {
			return state, err
		}
		found = nil
		var ids []int16
		var id *int16
		var row maybeRow
		_, err = pgx.ForEachRow(rows, append(stateFields(&state), &id, &row.key, &row.revision, &row.created, &row.expiresAt),
			func() error {
				if id != nil {
					ids = append(ids, *id)
					found = append(found, engine.ResourceRow{Row: engine.Row{
						Key: *row.key, Revision: engine.Revision(*row.revision), Created: engine.Revision(*row.created),
						ExpiresAt: *row.expiresAt,
					}})
				}
				return nil
			})
		if err != nil {
			return state, err
		}
		for i, id := range ids {
			if found[i].Resource, err = e.resources.resolve(ctx, conn, id); err != nil {
				return state, err
			}
		}
		return state, nil
	})
	return found, err
}
