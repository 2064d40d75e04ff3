// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// A key that was changed after revision R has, at R, the value that its first
// event after R replaced. All other keys have their current row.

// Statements of old snapshots.
const (
	// A range of event_key, grouped as it comes: the history of the keys.
	selectFirstEvents = `SELECT key, min(revision) FROM event INDEXED BY event_key
WHERE cluster = ? AND resource = ? AND key >= ? AND key < ? AND revision > ? GROUP BY key ORDER BY key LIMIT ?`
	// A range of the primary key of event: what happened since.
	selectRecentEvents = `SELECT key, revision FROM event NOT INDEXED
WHERE cluster = ? AND revision > ? AND resource = ? AND key >= ? AND key < ? ORDER BY revision`
	// Primary key of event.
	selectPrevious = `SELECT previous_revision, created, 0, previous_size, previous_codec, previous_data FROM event
WHERE cluster = ? AND revision = ?`
	// A range of event_key; for each key its first and last event: how many keys
	// there were then and are not now.
	countGone = `SELECT sum((first.kind <> 1) - (last.kind <> 3))
FROM (SELECT min(revision) AS low, max(revision) AS high FROM event INDEXED BY event_key
WHERE cluster = ?1 AND resource = ?2 AND key >= ?3 AND key < ?4 AND revision > ?5 GROUP BY key) AS changed
CROSS JOIN event AS first ON first.cluster = ?1 AND first.revision = changed.low
CROSS JOIN event AS last ON last.cluster = ?1 AND last.revision = changed.high`
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

// undo returns up to limit rows of a window as they were at its revision. It
// goes on in steps of keys, so that its cost follows the page and the changes in
// it even when everything was changed since.
func (s *snapshot) undo(w window, find finder, limit int) ([]engine.Row, error) {
	var rows []engine.Row
	step := undoStep
	if limit != noLimit {
		step = max(limit, minUndoStep)
	}
	for {
		current, err := find(w, step)
		if err != nil {
			return nil, err
		}
		part := w
		if len(current) == step {
			part.to = behindKey(current[step-1].Key)
		}
		changed, err := s.firstEvents(part, step)
		if err != nil {
			return nil, err
		}
		if len(changed) == step {
			// There may be more changes before the last current row.
			part.to = behindKey(changed[step-1].key)
		}
		if rows, err = s.merge(rows, part, current, changed); err != nil {
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

// firstEvent is the first event of a key after the revision of a window.
type firstEvent struct {
	key      string
	revision int64
}

// firstEvents returns the keys of a window that were changed after its
// revision, in order, at most limit of them.
func (s *snapshot) firstEvents(w window, limit int) ([]firstEvent, error) {
	var out []firstEvent
	if s.state.Revision-w.at > recentEvents {
		err := s.scan(func(row []driver.Value) error {
			out = append(out, firstEvent{text(row[0]), row[1].(int64)})
			return nil
		}, selectFirstEvents, s.engine.cluster, w.resource, w.from, w.to, int64(w.at), int64(limit))
		return out, err
	}
	seen := map[string]bool{}
	err := s.scan(func(row []driver.Value) error {
		if key := text(row[0]); !seen[key] {
			seen[key] = true
			out = append(out, firstEvent{key, row[1].(int64)})
		}
		return nil
	}, selectRecentEvents, s.engine.cluster, int64(w.at), w.resource, w.from, w.to)
	slices.SortFunc(out, func(a, b firstEvent) int { return strings.Compare(a.key, b.key) })
	return out[:min(limit, len(out))], err
}

// merge appends to rows those of a window: the current ones that are as old as
// its revision, and the changed ones as they were.
func (s *snapshot) merge(rows []engine.Row, w window, current []engine.Row, changed []firstEvent) ([]engine.Row, error) {
	within := func(key string) bool {
		to, bounded := w.to.(string)
		return !bounded || key < to
	}
	appendCurrent := func(row engine.Row) error {
		if row.Revision > w.at {
			return fmt.Errorf("%w: revision %d changed %s without an event", engine.ErrCorrupt, row.Revision, row.Key)
		}
		rows = append(rows, row)
		return nil
	}
	for len(changed) > 0 || len(current) > 0 {
		if len(current) > 0 && (len(changed) == 0 || current[0].Key < changed[0].key) {
			if !within(current[0].Key) {
				return rows, nil
			}
			if err := appendCurrent(current[0]); err != nil {
				return nil, err
			}
			current = current[1:]
			continue
		}
		if !within(changed[0].key) {
			return rows, nil
		}
		previous, err := s.previous(changed[0])
		if err != nil {
			return nil, err
		}
		if previous.Revision != 0 {
			rows = append(rows, previous)
		}
		if len(current) > 0 && current[0].Key == changed[0].key {
			current = current[1:]
		}
		changed = changed[1:]
	}
	return rows, nil
}

// previous returns the row that an event replaced; its revision is 0 when
// there was none.
func (s *snapshot) previous(event firstEvent) (out engine.Row, err error) {
	_, err = s.one(func(row []driver.Value) { out = rowOf(event.key, row) }, selectPrevious, s.engine.cluster, event.revision)
	return out, err
}

// countGone returns how many more keys a window had at its revision than now.
func (s *snapshot) countGone(w window) (int64, error) {
	return s.number(s.ctx, countGone, s.engine.cluster, w.resource, w.from, w.to, int64(w.at))
}
