// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var reopenCases = []testCase{
	{"NothingIsLostByAClose", testReopen},
	{"ClustersAreSeparate", testClusters},
}

func testReopen(t *testing.T, target Target) {
	open := target.New(t)
	p := pair{session{t, open(t, cluster)}, session{t, NewModel(time.Now)}}
	random := rand.New(rand.NewPCG(8, 8))
	incarnation := p.state().Incarnation
	for range 3 {
		p.scramble(random, 10, 10)
		p.compact(p.state().Revision - 3)
		p.model.compact(p.model.state().Revision - 3)
		if err := p.engine.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		p.engine = open(t, cluster)
		if got := p.state().Incarnation; got != incarnation {
			t.Fatalf("a clean restart changed the incarnation from %d to %d", incarnation, got)
		}
		p.finish()
	}
}

func testClusters(t *testing.T, target Target) {
	open := target.New(t)
	names := []string{"one", "two", "three"}
	pairs := map[string]pair{}
	for _, name := range names {
		pairs[name] = pair{model: session{t, NewModel(time.Now)}}
	}
	random := rand.New(rand.NewPCG(9, 9))
	for round := range 3 {
		for _, name := range names {
			p := pairs[name]
			p.session = session{t, open(t, name)}
			p.scramble(random, 5+round, 10)
			if round == 1 {
				p.compact(5)
				p.model.compact(5)
			}
			p.apply(create(fmt.Sprintf("%s-%d", name, round), "")) // The model follows.
			p.model.apply(create(fmt.Sprintf("%s-%d", name, round), ""))
			if err := p.engine.Tidy(t.Context()); err != nil {
				t.Fatalf("tidy: %v", err)
			}
			p.finish()
			rows, err := p.engine.Expired(t.Context(), 10)
			if err != nil || len(rows) != 0 {
				t.Errorf("expired: %v, %v", rows, err)
			}
			if err := p.engine.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
		}
	}
}
