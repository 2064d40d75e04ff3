// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// Model is an engine in memory: the oracle of the suite. Use NewModel.
type Model struct {
	now func() time.Time

	mu sync.Mutex
	// database are the models of all clusters; nil for none but this one.
	database map[string]*Model
	closed   bool
	state    engine.State
	objects  map[place]object
	// events of all time, those that were compacted too, in order.
	events []engine.Event
	// highest version that derived rows of a resource, and the one that is being made.
	highest  map[engine.Resource]engine.Derivation
	building map[engine.Resource]building
}

var _ Engine = (*Model)(nil)

type place struct {
	resource engine.Resource
	key      string
}

type object struct {
	row     engine.Row
	derived engine.Derivation
	index   []engine.Term
	report  *engine.Projection
}

// NewModel returns an empty model whose clock is now.
func NewModel(now func() time.Time) *Model {
	return &Model{
		now:     now,
		state:   engine.State{Revision: 1, Incarnation: 1},
		objects: map[place]object{},
		highest: map[engine.Resource]engine.Derivation{}, building: map[engine.Resource]building{},
	}
}

// Prepare implements engine.Engine.
func (m *Model) Prepare(context.Context, *engine.Op) (release func(), err error) {
	return func() {}, nil
}

// Commit implements engine.Engine.
func (m *Model) Commit(ctx context.Context, ops []engine.Op) (engine.Batch, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.Batch{}, err
	}
	defer unlock()
	if err := engine.CheckOps(ops); err != nil {
		return engine.Batch{}, fmt.Errorf("commit: %w", err)
	}
	batch := engine.Batch{Time: m.now().Truncate(time.Millisecond)}
	for _, op := range ops {
		batch.Outcomes = append(batch.Outcomes, m.apply(op, batch.Time))
	}
	batch.State = m.state
	return batch, nil
}

// apply does one op if its condition holds.
func (m *Model) apply(op engine.Op, now time.Time) engine.Outcome {
	if g := op.Guard; g != nil && m.objects[place{g.Resource, g.Key}].row.Revision != g.Revision {
		return engine.Outcome{Guarded: true}
	}
	at := place{op.Resource, op.Key}
	old, found := m.objects[at]
	if found == (op.Kind == engine.Create) || found && old.row.Revision != op.Expect {
		if !found {
			return engine.Outcome{}
		}
		current := cloneRow(old.row)
		return engine.Outcome{Current: &current}
	}
	m.state.Revision++
	event := engine.Event{
		Revision: m.state.Revision, Kind: op.Kind, Resource: op.Resource, Key: op.Key,
		Created: m.state.Revision, Time: now,
	}
	if found {
		event.Created = old.row.Created
		event.PreviousRevision = old.row.Revision
		event.Previous = old.row.Value
	}
	if op.Kind == engine.Delete {
		delete(m.objects, at)
	} else {
		event.Value = cloneValue(op.Value)
		written := object{index: slices.Clone(op.Index), report: op.Projection, derived: op.Derivation}
		if op.Kind == engine.Update && op.KeepDerived {
			written.index, written.report = old.index, old.report
			written.derived = min(op.Derivation, old.derived)
		}
		written.row = engine.Row{
			Key: op.Key, Revision: event.Revision, Created: event.Created,
			ExpiresAt: op.ExpiresAt, Value: event.Value,
		}
		m.wrote(op.Resource, op.Derivation)
		m.objects[at] = written
	}
	m.events = append(m.events, event)
	return engine.Outcome{Revision: event.Revision, Created: event.Created}
}

// Compact implements engine.Engine.
func (m *Model) Compact(ctx context.Context, upTo engine.Revision) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if upTo > m.state.Revision {
		return fmt.Errorf("compact: revision %d is above the current one, %d: %w", upTo, m.state.Revision, engine.ErrFuture)
	}
	m.state.Compacted = max(m.state.Compacted, upTo)
	return nil
}

// Horizon implements engine.Engine.
func (m *Model) Horizon(ctx context.Context, keep time.Duration, maxBytes int64) (engine.Revision, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	var horizon engine.Revision
	var newer int64
	limit := m.now().Add(-keep)
	for _, event := range slices.Backward(m.events) {
		if event.Revision <= m.state.Compacted {
			break
		}
		newer += engine.EventBytes(event.Key, event.Previous)
		if event.Time.Before(limit) || maxBytes > 0 && newer > maxBytes {
			horizon = max(horizon, event.Revision)
		}
	}
	return horizon, nil
}

// Expired implements engine.Engine.
func (m *Model) Expired(ctx context.Context, limit int) ([]engine.ResourceRow, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var out []engine.ResourceRow
	for place, object := range m.objects {
		row := object.row
		if row.ExpiresAt != 0 && row.ExpiresAt < m.now().Unix() && len(out) < limit {
			row.Value = engine.Value{}
			out = append(out, engine.ResourceRow{Resource: place.resource, Row: row})
		}
	}
	return out, nil
}

// Derive implements engine.Engine.
func (m *Model) Derive(ctx context.Context, items []engine.Derived) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, item := range items {
		at := place{item.Resource, item.Key}
		found, ok := m.objects[at]
		if ok && found.row.Revision == item.Revision && found.derived <= item.Derivation {
			found.derived = item.Derivation
			found.index, found.report = slices.Clone(item.Index), item.Projection
			m.objects[at] = found
		}
	}
	return nil
}

// Tidy implements engine.Engine.
func (m *Model) Tidy(ctx context.Context) error {
	unlock, err := m.enter(ctx)
	if err != nil {
		return err
	}
	unlock()
	return nil
}

// Tally implements engine.Engine: a model has no counters.
func (m *Model) Tally(ctx context.Context) error { return m.Tidy(ctx) }

// Analyze implements engine.Engine.
func (m *Model) Analyze(ctx context.Context) error { return m.Tidy(ctx) }

// Wake implements engine.Engine: nobody else writes to a model.
func (m *Model) Wake() <-chan struct{} { return nil }

// Close implements engine.Engine.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// Reopened returns the model itself, ready for use after a Close: it stands for the database as well as for the engine.
func (m *Model) Reopened() *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = false
	return m
}

// enter locks the model for a call.
func (m *Model) enter(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, engine.ErrClosed
	}
	return m.mu.Unlock, nil
}

func cloneRow(row engine.Row) engine.Row {
	row.Value = cloneValue(row.Value)
	return row
}

func cloneValue(v engine.Value) engine.Value {
	v.Data = slices.Clone(v.Data)
	return v
}

// Advance implements engine.Advancer.
func (m *Model) Advance(ctx context.Context, to engine.Revision) (engine.State, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.State{}, err
	}
	defer unlock()
	m.state.Revision = max(to, m.state.Revision+1)
	m.state.Compacted = m.state.Revision
	m.state.Incarnation++
	return m.state, nil
}
