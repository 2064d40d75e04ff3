// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// fleetEngine is one of several replicas, and records the calls.
type fleetEngine struct {
	engine.Engine
	leads           bool
	begun, finished int
}

func (f *fleetEngine) Beat(context.Context, engine.Derivation, engine.Revision) (engine.Fleet, error) {
	return engine.Fleet{Replicas: 2, Leads: f.leads}, nil
}

func (f *fleetEngine) BeginDerivation(ctx context.Context, resource engine.Resource, version engine.Derivation) (engine.Revision, error) {
	f.begun++
	return f.Engine.BeginDerivation(ctx, resource, version)
}

func (f *fleetEngine) FinishDerivation(
	ctx context.Context, resource engine.Resource, version engine.Derivation, mark engine.Revision,
) (bool, error) {
	f.finished++
	return f.Engine.FinishDerivation(ctx, resource, version, mark)
}

// TestOneReplicaDerives: of several replicas one derives again, and an object that can't be read does not keep it
// from the end.
func TestOneReplicaDerives(t *testing.T) {
	t.Parallel()
	e := &fleetEngine{Engine: enginetest.NewModel(time.Now)}
	s := testkit.Must(New(t.Context(), Options{Engine: e}))(t)
	r := s.Resource(ResourceConfig{Prefix: "/reports/"})
	old := engine.Op{Kind: engine.Create, Resource: r.resource, Key: "damaged", Value: engine.Value{Codec: 99}}
	testkit.Must(e.Commit(t.Context(), []engine.Op{old}))(t)
	for _, want := range []int{0, 1} {
		e.leads = want == 1
		testkit.NoError(t, s.deriveAnew(t.Context()))
		if e.begun != want || e.finished != want {
			t.Errorf("leads=%t: begun %d times, ended %d times, want %d", e.leads, e.begun, e.finished, want)
		}
	}
}
