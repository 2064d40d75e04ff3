// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	derivationSQL = `SELECT ` + stateColumns + `, t.complete, t.highest
FROM ` + newestCounter + ` r LEFT JOIN LATERAL (SELECT * ` + newestTotal + `$2` + newestFirst + `) t ON true`

	// beginDerivationSQL and finishDerivationSQL change the sums, under the counter: a commit is either before, and
	// seen by the walk that follows, or sees this. Commits find the sums by their place, where they must stay.
	beginDerivationSQL = `UPDATE docket.total SET building = greatest(building, $3) WHERE cluster = $1 AND resource = $2 RETURNING mark`

	finishDerivationSQL = `UPDATE docket.total SET complete = $3
WHERE cluster = $1 AND resource = $2 AND complete < $3 AND building >= $3 AND mark = $4`

	// underivedSQL walks the primary key, and reads the values of those that it returns.
	underivedSQL = `WITH slice AS MATERIALIZED (
	SELECT key, derived FROM docket.object WHERE cluster = $1 AND resource = $2 AND key > $3 ORDER BY key LIMIT $5
)
SELECT ` + stateColumns + `,
	(SELECT CASE WHEN count(*) = $5 THEN max(key) ELSE '' END FROM slice),
	o.key, o.revision, o.created, o.expires_at, o.size, o.codec, o.data
FROM ` + newestCounter + ` r LEFT JOIN (
	SELECT f.* FROM slice s CROSS JOIN LATERAL (
		SELECT * FROM docket.object WHERE cluster = $1 AND resource = $2 AND key = s.key OFFSET 0
	) f WHERE s.derived < $4
) o ON true`
)

// Derivation implements engine.Engine.
func (e *Engine) Derivation(ctx context.Context, resource engine.Resource) (engine.DerivationState, error) {
	var found engine.DerivationState
	err := e.read(ctx, "read what is derived", func(ctx context.Context, conn session) (engine.State, error) {
		id, state, err := e.resource(ctx, conn, resource)
		if err != nil {
			return state, err
		}
		var complete, highest *engine.Derivation
		err = conn.QueryRow(ctx, derivationSQL, e.cluster, id).Scan(append(stateFields(&state), &complete, &highest)...)
		found = engine.NothingToDerive
		if complete != nil {
			found = engine.DerivationState{Complete: *complete, Highest: *highest}
		}
		return state, noCounter(err)
	})
	return found, err
}

// BeginDerivation implements engine.Engine.
func (e *Engine) BeginDerivation(ctx context.Context, resource engine.Resource, version engine.Derivation) (engine.Revision, error) {
	var mark engine.Revision
	err := e.write(ctx, "begin to derive", func(ctx context.Context, conn session) error {
		id, err := e.resources.find(ctx, conn, resource)
		if err != nil {
			return err
		}
		return e.underCounter(ctx, conn, func(pipeline *pgx.Batch) {
			pipeline.Queue(beginDerivationSQL, e.cluster, id, version).QueryRow(func(row pgx.Row) error {
				if err := row.Scan(&mark); !errors.Is(err, pgx.ErrNoRows) {
					return err
				}
				return nil
			})
		})
	})
	return mark, err
}

// FinishDerivation implements engine.Engine.
func (e *Engine) FinishDerivation(ctx context.Context, resource engine.Resource, version engine.Derivation, mark engine.Revision) (bool, error) {
	finished := false
	err := e.write(ctx, "finish what is derived", func(ctx context.Context, conn session) error {
		id, err := e.resources.find(ctx, conn, resource)
		if err != nil {
			return err
		}
		return e.underCounter(ctx, conn, func(pipeline *pgx.Batch) {
			pipeline.Queue(finishDerivationSQL, e.cluster, id, version, int64(mark)).Exec(func(tag pgconn.CommandTag) error {
				finished = tag.RowsAffected() > 0
				return nil
			})
		})
	})
	return finished, err
}

// Underived implements engine.Engine.
func (e *Engine) Underived(
	ctx context.Context, resource engine.Resource, after string, version engine.Derivation, limit int,
) (engine.Underived, error) {
	var found engine.Underived
	err := e.read(ctx, "look for what is to be derived", func(ctx context.Context, conn session) (engine.State, error) {
		found = engine.Underived{}
		id, state, err := e.resource(ctx, conn, resource)
		if err != nil || id == unknownResource {
			return state, err
		}
		rows, err := conn.Query(ctx, underivedSQL, e.cluster, id, text(after), version, limit)
		if err != nil {
			return state, err
		}
		var row maybeRow
		_, err = pgx.ForEachRow(rows, append(append(stateFields(&state), &found.Last), row.fields()...), func() error {
			if row.key != nil {
				found.Rows = append(found.Rows, row.row())
				row.data = nil // Each row gets bytes of its own.
			}
			return nil
		})
		return state, err
	})
	return found, err
}
