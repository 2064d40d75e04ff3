// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// building is a walk that derives again: the version, and the last change by an older one.
type building struct {
	version engine.Derivation
	mark    engine.Revision
}

// derivation looks at all objects, which is what engines avoid by keeping account.
func (m *Model) derivation(resource engine.Resource) engine.DerivationState {
	state := engine.NothingToDerive
	state.Highest = m.highest[resource]
	for at, object := range m.objects {
		if at.resource == resource {
			state.Complete = min(state.Complete, object.derived)
		}
	}
	return state
}

// wrote notes that an object's rows count as derived by a version.
func (m *Model) wrote(resource engine.Resource, version engine.Derivation) {
	m.highest[resource] = max(m.highest[resource], version)
	if b := m.building[resource]; version < b.version {
		b.mark = m.state.Revision
		m.building[resource] = b
	}
}

// Beat implements engine.Engine: a model is alone.
func (m *Model) Beat(ctx context.Context, _ engine.Derivation, _ engine.Revision) (engine.Fleet, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.Fleet{}, err
	}
	defer unlock()
	return engine.Fleet{Replicas: 1, Leads: true}, nil
}

// Derivation implements engine.Engine.
func (m *Model) Derivation(ctx context.Context, resource engine.Resource) (engine.DerivationState, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.DerivationState{}, err
	}
	defer unlock()
	return m.derivation(resource), nil
}

// BeginDerivation implements engine.Engine.
func (m *Model) BeginDerivation(ctx context.Context, resource engine.Resource, version engine.Derivation) (engine.Revision, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	b := m.building[resource]
	b.version = max(b.version, version)
	m.building[resource] = b
	return b.mark, nil
}

// FinishDerivation implements engine.Engine.
func (m *Model) FinishDerivation(ctx context.Context, resource engine.Resource, version engine.Derivation, mark engine.Revision) (bool, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	return m.building[resource].mark == mark && m.derivation(resource).Complete >= version, nil
}

// Underived implements engine.Engine.
func (m *Model) Underived(
	ctx context.Context, resource engine.Resource, after string, version engine.Derivation, limit int,
) (engine.Underived, error) {
	unlock, err := m.enter(ctx)
	if err != nil {
		return engine.Underived{}, err
	}
	defer unlock()
	var found engine.Underived
	for at, object := range m.objects {
		if at.resource == resource && at.key > after && object.derived < version {
			found.Rows = append(found.Rows, cloneRow(object.row))
		}
	}
	slices.SortFunc(found.Rows, func(a, b engine.Row) int { return strings.Compare(a.Key, b.Key) })
	if len(found.Rows) > limit {
		found.Rows = found.Rows[:limit]
		found.Last = found.Rows[limit-1].Key
	}
	return found, nil
}
