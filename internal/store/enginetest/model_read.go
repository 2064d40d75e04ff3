// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// Get implements engine.Engine.
func (m *Model) Get(ctx context.Context, resource engine.Resource, key string) (*engine.Row, engine.State, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, engine.State{}, err
	}
	defer unlock()
	found, ok := m.objects[place{resource, key}]
	if !ok {
		return nil, m.state, nil
	}
	row := cloneRow(found.row)
	return &row, m.state, nil
}

// List implements engine.Engine. Its More is exact.
func (m *Model) List(ctx context.Context, q engine.Query) (engine.Page, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.Page{}, err
	}
	defer unlock()
	if err := m.checkRevision(q.At); err != nil {
		return engine.Page{}, err
	}
	all, selected := m.snapshot(q)
	page := engine.Page{State: m.state, Remaining: -1}
	for _, row := range selected {
		if row.Key < q.After || row.Key == q.After && q.After != "" && !q.Inclusive {
			continue
		}
		if q.Limit > 0 && len(page.Rows) == q.Limit {
			page.More = true
			break
		}
		page.Rows = append(page.Rows, cloneRow(row))
	}
	if q.Count {
		page.Remaining = 0
		for _, key := range all {
			if len(page.Rows) > 0 && key > page.Rows[len(page.Rows)-1].Key {
				page.Remaining++
			}
		}
		whole := q.Prefix == "" && q.After == "" && q.At == 0 && len(q.Conditions) == 0
		if page.Remaining > engine.CountCap && !whole {
			page.Remaining = -1
		}
	}
	return page, nil
}

// snapshot returns the keys of q's prefix at q.At, and the rows of those that
// match q's conditions or were undone, by key. After and Limit are left out.
func (m *Model) snapshot(q engine.Query) (all []string, selected []engine.Row) {
	at := cmp.Or(q.At, m.state.Revision)
	served := m.derivation(q.Resource).Serves(q.Derivation)
	for place, object := range m.objects {
		if place.resource != q.Resource || !strings.HasPrefix(place.key, q.Prefix) || object.row.Revision > at {
			continue
		}
		all = append(all, place.key)
		if !served || Matches(object.index, q.Conditions) {
			selected = append(selected, object.row)
		}
	}
	undone := map[string]bool{}
	later, _ := slices.BinarySearchFunc(m.events, at+1, func(event engine.Event, revision engine.Revision) int {
		return cmp.Compare(event.Revision, revision)
	})
	for _, event := range m.events[later:] {
		if event.Resource != q.Resource || !strings.HasPrefix(event.Key, q.Prefix) || undone[event.Key] {
			continue
		}
		undone[event.Key] = true
		if event.Kind != engine.Create {
			all = append(all, event.Key)
			selected = append(selected, engine.Row{
				Key: event.Key, Revision: event.PreviousRevision, Created: event.Created, Value: event.Previous,
			})
		}
	}
	slices.SortFunc(selected, func(a, b engine.Row) int { return strings.Compare(a.Key, b.Key) })
	return all, selected
}

// Matches reports whether an object with these terms meets all conditions.
func Matches(terms []engine.Term, conditions []engine.Condition) bool {
	for _, condition := range conditions {
		if !slices.ContainsFunc(terms, func(term engine.Term) bool {
			return term.Name == condition.Name &&
				(len(condition.Values) == 0 || slices.Contains(condition.Values, term.Value))
		}) {
			return false
		}
	}
	return true
}

// Events implements engine.Engine.
func (m *Model) Events(ctx context.Context, after engine.Revision, limit int) ([]engine.Event, engine.State, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, engine.State{}, err
	}
	defer unlock()
	if after < m.state.Compacted {
		return nil, m.state, engine.ErrCompacted
	}
	var out []engine.Event
	for _, event := range m.events {
		if event.Revision > after && len(out) < limit {
			event.Value, event.Previous = cloneValue(event.Value), cloneValue(event.Previous)
			out = append(out, event)
		}
	}
	return out, m.state, nil
}

// State implements engine.Engine.
func (m *Model) State(ctx context.Context) (engine.State, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.State{}, err
	}
	defer unlock()
	return m.state, nil
}

// Stats implements engine.Engine.
func (m *Model) Stats(ctx context.Context, resource engine.Resource) (engine.Stats, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.Stats{}, err
	}
	defer unlock()
	var stats engine.Stats
	for place, object := range m.objects {
		if place.resource == resource {
			stats.Objects++
			stats.Bytes += int64(object.row.Size)
		}
	}
	return stats, nil
}

// Usage implements engine.Engine. Its DatabaseBytes is a token.
func (m *Model) Usage(ctx context.Context) (engine.Usage, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.Usage{}, err
	}
	defer unlock()
	usage := engine.Usage{DatabaseBytes: 1}
	for _, event := range m.events {
		if event.Revision <= m.state.Compacted {
			continue
		}
		if usage.Events == 0 {
			usage.Oldest = event.Time
		}
		usage.Events++
		usage.HistoryBytes += engine.EventBytes(event.Key, event.Previous)
	}
	for _, object := range m.objects {
		if object.report != nil {
			usage.Results += int64(len(object.report.Results))
		}
	}
	return usage, nil
}

// checkRevision reports whether a snapshot at a revision can be read.
func (m *Model) checkRevision(at engine.Revision) error {
	switch {
	case at != 0 && at < m.state.Compacted:
		return engine.ErrCompacted
	case at > m.state.Revision:
		return engine.ErrFuture
	case at < 0:
		return errors.New("negative revision")
	}
	return nil
}
