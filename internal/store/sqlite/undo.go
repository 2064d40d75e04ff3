// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// A key that was changed after revision R has, at R, the value that its first
// event after R replaced. All other keys have their current row.

// Statements of old snapshots.
const (
	// A range of event_key, grouped as it comes: the history of the keys. Then the first events by primary key.
	selectFirstEvents = `SELECT changed.key, e.previous_revision, e.created, 0, e.previous_size, e.previous_codec, e.previous_data
FROM (SELECT key, min(revision) AS revision FROM event INDEXED BY event_key
WHERE cluster = ?1 AND resource = ?2 AND key >= ?3 AND key < ?4 AND revision > ?5 GROUP BY key ORDER BY key LIMIT ?6) AS changed
CROSS JOIN event AS e ON e.cluster = ?1 AND e.revision = changed.revision ORDER BY changed.key`
	// A range of the primary key of event: what happened since.
	selectRecentEvents = `SELECT key, previous_revision, created, 0, previous_size, previous_codec, previous_data FROM event
WHERE cluster = ?1 AND +resource = ?2 AND +key >= ?3 AND +key < ?4 AND revision > ?5 ORDER BY revision`
	// For each changed key its first and last event, by primary key: how many keys there were then and are not now.
	countGone = `SELECT sum((first.kind <> 1) - (last.kind <> 3)) FROM (%s) AS changed
CROSS JOIN event AS first ON first.cluster = ?1 AND first.revision = changed.low
CROSS JOIN event AS last ON last.cluster = ?1 AND last.revision = changed.high`
	// Changed keys, found as in selectFirstEvents or in selectRecentEvents.
	changedKeys = `SELECT min(revision) AS low, max(revision) AS high FROM event INDEXED BY event_key
WHERE cluster = ?1 AND resource = ?2 AND key >= ?3 AND key < ?4 AND revision > ?5 GROUP BY key`
	recentKeys = `SELECT min(revision) AS low, max(revision) AS high FROM event
WHERE cluster = ?1 AND +resource = ?2 AND +key >= ?3 AND +key < ?4 AND revision > ?5 GROUP BY +key`
)

// recentEvents is how many revisions are better read one after the other than
// found among the history of a window's keys.
const recentEvents = 1000

// undo looks at this many keys at a time: more would read too much for a small
// page, fewer would ask too often where most keys were deleted.
const (
	undoStep    = 1000
	minUndoStep = 64
)

// undo returns up to limit rows of a window as they were at its revision. It goes on in steps of keys, so that its cost
// follows the page and the changes in it even when everything was changed since.
func (s *snapshot) undo(w window, find finder, limit int) ([]engine.Row, error) {
	var rows []engine.Row
	for {
		step := undoStep
		if limit != noLimit {
			step = max(limit-len(rows), minUndoStep)
		}
		current, err := find(w, step)
		if err != nil {
			return nil, err
		}
		part := w
		if len(current) == step {
			part.to = behindKey(current[step-1].Key)
		}
		changed, err := s.changed(part, step)
		if err != nil {
			return nil, err
		}
		if len(changed) == step {
			// There may be more changes before the last current row.
			part.to = behindKey(changed[step-1].Key)
		}
		if rows, err = merge(rows, part, current, changed); err != nil {
			return nil, err
		}
		if limit != noLimit && len(rows) >= limit {
			return rows[:limit], nil
		}
		if len(current) < step && len(changed) < step {
			return rows, nil
		}
		w.from = part.to.(string)
	}
}

// changed returns the keys of a window that were changed after its revision, in order, at most limit of them, as they
// were: with a revision of 0 when they did not exist.
func (s *snapshot) changed(w window, limit int) ([]engine.Row, error) {
	args := []any{s.engine.cluster, w.resource, w.from, w.to, int64(w.at)}
	if s.state.Revision-w.at > recentEvents {
		return s.find(selectFirstEvents, append(args, int64(limit))...)
	}
	rows, err := s.find(selectRecentEvents, args...)
	slices.SortStableFunc(rows, func(a, b engine.Row) int { return strings.Compare(a.Key, b.Key) })
	rows = slices.CompactFunc(rows, func(a, b engine.Row) bool { return a.Key == b.Key })
	return rows[:min(limit, len(rows))], err
}

// merge appends to rows those of a window: the current ones that are as old as
// its revision, and the changed ones as they were.
func merge(rows []engine.Row, w window, current, changed []engine.Row) ([]engine.Row, error) {
	to, bounded := w.to.(string)
	for len(changed) > 0 || len(current) > 0 {
		from := &current
		if len(current) == 0 || len(changed) > 0 && changed[0].Key <= current[0].Key {
			from = &changed
		}
		next := (*from)[0]
		if bounded && next.Key >= to {
			return rows, nil
		}
		if next.Revision > w.at {
			return nil, fmt.Errorf("%w: revision %d changed %s without an event", engine.ErrCorrupt, next.Revision, next.Key)
		}
		if next.Revision != 0 {
			rows = append(rows, next)
		}
		if from == &changed && len(current) > 0 && current[0].Key == next.Key {
			current = current[1:]
		}
		*from = (*from)[1:]
	}
	return rows, nil
}

// countGone returns how many more keys a window had at its revision than now.
func (s *snapshot) countGone(w window) (int64, error) {
	keys := recentKeys
	if s.state.Revision-w.at > recentEvents {
		keys = changedKeys
	}
	return s.number(s.ctx, fmt.Sprintf(countGone, keys), s.engine.cluster, w.resource, w.from, w.to, int64(w.at))
}
