// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

// eventBytes of values is where a page of events ends, whatever its limit.
const eventBytes = 8 << 20

// eventsSQL reads events with the value that each wrote: what the next event of the key replaced, or else the object.
// Both look-ups use an index, event_key and the primary key. Lengths are read without the values, so that what lies
// beyond the page's bytes costs little; the first event comes whatever its size.
const eventsSQL = `SELECT ` + stateColumns + `,
	e.revision, e.kind, e.resource, e.key, e.created, e.committed_at,
	e.previous_revision, coalesce(e.previous_codec, 0), coalesce(e.previous_size, 0), e.previous_data,
	e.written, coalesce(e.codec, 0), coalesce(e.size, 0), e.data
FROM ` + namedCounter + ` r
LEFT JOIN LATERAL (
	SELECT v.*, sum(coalesce(octet_length(v.previous_data), 0) + coalesce(octet_length(v.data), 0))
		OVER (ORDER BY v.revision ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
	FROM (
		SELECT c.*, coalesce(n.previous_revision, o.revision) AS written,
			CASE WHEN n.previous_revision IS NULL THEN o.codec ELSE n.previous_codec END AS codec,
			CASE WHEN n.previous_revision IS NULL THEN o.size ELSE n.previous_size END AS size,
			CASE WHEN n.previous_revision IS NULL THEN o.data ELSE n.previous_data END AS data
		FROM (
			SELECT * FROM docket.event WHERE cluster = @cluster AND revision > @after ORDER BY revision LIMIT @limit
		) c
		LEFT JOIN LATERAL (
			SELECT previous_revision, previous_codec, previous_size, previous_data FROM docket.event
			WHERE cluster = @cluster AND resource = c.resource AND key = c.key AND revision > c.revision AND c.kind <> 3
			ORDER BY revision LIMIT 1
		) n ON true
		LEFT JOIN docket.object o ON n.previous_revision IS NULL AND c.kind <> 3
			AND o.cluster = @cluster AND o.resource = c.resource AND o.key = c.key
	) v
) e ON coalesce(e.before, 0) < @bytes`

// Events implements engine.Engine.
func (e *Engine) Events(ctx context.Context, after engine.Revision, limit int) ([]engine.Event, engine.State, error) {
	var events []engine.Event
	var state engine.State
	err := e.read(ctx, "read events", func(ctx context.Context, conn session) (engine.State, error) {
		rows, err := conn.Query(ctx, eventsSQL, pgx.NamedArgs{
			"cluster": e.cluster, "after": int64(after), "limit": max(limit, 0), "bytes": int64(eventBytes),
		})
		if err != nil {
			return state, err
		}
		var ids []int16
		if events, ids, err = scanEvents(rows, &state); err != nil {
			return state, err
		}
		for i, id := range ids {
			if events[i].Resource, err = e.resources.resolve(ctx, conn, id); err != nil {
				return state, err
			}
		}
		return state, nil
	})
	if err != nil {
		return nil, state, err
	}
	switch {
	case after < state.Compacted:
		return nil, state, fmt.Errorf("read events after %d: %w up to %d", after, engine.ErrCompacted, state.Compacted)
	case state.Gap.Has(after):
		return nil, state, leftOut("read events after", after, state.Gap)
	}
	return events, state, checkEvents(events, after, state.Gap)
}

// scanEvents reads events and the ids of their resources, by revision.
func scanEvents(rows pgx.Rows, state *engine.State) ([]engine.Event, []int16, error) {
	type numbered struct {
		engine.Event
		resource int16
	}
	var found []numbered
	var revision, created, previous, written *int64
	var kind, resource *int16
	var key *string
	var at *time.Time
	var event engine.Event
	_, err := pgx.ForEachRow(rows, append(stateFields(state), &revision, &kind, &resource, &key, &created, &at,
		&previous, &event.Previous.Codec, &event.Previous.Size, &event.Previous.Data,
		&written, &event.Value.Codec, &event.Value.Size, &event.Value.Data), func() error {
		if revision == nil {
			return nil
		}
		event.Revision, event.Kind = engine.Revision(*revision), engine.OpKind(*kind)
		event.Key, event.Created, event.Time = *key, engine.Revision(*created), *at
		event.PreviousRevision = engine.Revision(*previous)
		if event.Kind != engine.Delete && (written == nil || *written != *revision) {
			return fmt.Errorf("%w: value of event %d is missing", engine.ErrCorrupt, *revision)
		}
		found = append(found, numbered{event, *resource})
		event.Previous.Data, event.Value.Data = nil, nil // Each event gets bytes of its own.
		return nil
	})
	slices.SortFunc(found, func(a, b numbered) int { return int(a.Revision - b.Revision) })
	events, ids := make([]engine.Event, len(found)), make([]int16, len(found))
	for i, f := range found {
		events[i], ids[i] = f.Event, f.resource
	}
	return events, ids, err
}

// leftOut is the error for a revision in a gap.
func leftOut(what string, revision engine.Revision, gap engine.Gap) error {
	return fmt.Errorf("%s %d: %w: the database lost it in a failover, %d follows %d",
		what, revision, engine.ErrCompacted, gap.To, gap.After)
}

// checkEvents makes sure that no event is missing. The first change of a cluster has revision 2.
func checkEvents(events []engine.Event, after engine.Revision, gap engine.Gap) error {
	next := gap.Over(max(after, 1)) + 1
	for _, event := range events {
		if event.Revision != next {
			return fmt.Errorf("%w: event %d is missing, the next one is %d", engine.ErrCorrupt, next, event.Revision)
		}
		next = gap.Over(next) + 1
	}
	return nil
}
