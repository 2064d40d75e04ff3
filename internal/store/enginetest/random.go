// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

var randomCases = []testCase{
	{"Seed1", randomTest(1)},
	{"Seed2", randomTest(2)},
	{"Seed3", randomTest(3)},
	{"Seed4", randomTest(4)},
}

func randomTest(seed uint64) func(*testing.T, Target) {
	return func(t *testing.T, target Target) { RunRandom(t, target, seed, 300) }
}

// RunRandom does steps random calls on an engine and on the model and compares
// the answers. A failure is repeated by its seed.
func RunRandom(t testing.TB, target Target, seed uint64, steps int) {
	p := target.pair(t)
	random := rand.New(rand.NewPCG(seed, seed))
	for range steps {
		p.step(random)
	}
	p.finish()
}

// step does one random call.
func (p pair) step(random *rand.Rand) {
	p.Helper()
	state := p.model.state()
	p.same("state", p.state(), state)
	switch kind := random.IntN(24); {
	case kind < 9:
		p.scramble(random, 1, 30)
	case kind < 15:
		p.compareList(randomQuery(random, state))
	case kind < 17:
		after := between(random, state.Compacted, state.Revision)
		limit := 1 + random.IntN(20)
		got, want := p.events(after, limit), p.model.events(after, limit)
		p.same(fmt.Sprintf("%d events after %d", limit, after), got, want)
	case kind < 18:
		p.derive(random)
	case kind < 19:
		p.sums()
		if err := p.engine.Tidy(p.Context()); err != nil {
			p.Fatalf("tidy: %v", err)
		}
	case kind < 20:
		p.sums()
		p.tally()
	case kind < 23:
		p.question(random)
	default:
		upTo := between(random, state.Compacted, state.Revision)
		upTo -= (upTo - state.Compacted) / 2
		p.compact(upTo)
		p.model.compact(upTo)
	}
}

// finish compares everything that is left.
func (p pair) finish() {
	p.Helper()
	state := p.model.state()
	p.same("state", p.state(), state)
	first := max(state.Compacted, 1)
	p.same("events", p.eventsAfter(first), p.model.eventsAfter(first))
	for _, resource := range []engine.Resource{reports, reportsX} {
		for at := first; at <= state.Revision; at++ {
			p.compareList(engine.Query{Resource: resource, At: at, Count: true})
		}
		for _, row := range p.model.list(engine.Query{Resource: resource}).Rows {
			p.same("row", p.get(resource, row.Key), &row)
		}
	}
	p.sums()
}

// sums compares Stats, Usage and Horizon.
func (p pair) sums() {
	p.Helper()
	for _, resource := range []engine.Resource{reports, reportsX, "/nobody's/"} {
		got, err := p.engine.Stats(p.Context(), resource)
		if err != nil {
			p.Fatalf("stats: %v", err)
		}
		want, _ := p.model.engine.Stats(p.Context(), resource)
		p.same("stats", got, want)
	}
	got, want := p.usage(), p.model.usage()
	got.DatabaseBytes, got.Oldest = want.DatabaseBytes, want.Oldest
	p.same("usage", got, want)
	p.same("rows of results", p.results(), p.model.results())
	p.same("counters of results", p.counts(), p.model.counts())
	for _, maxBytes := range []int64{0, 1, 1000, 10_000} {
		p.same("horizon", p.horizon(1<<40, maxBytes), p.model.horizon(1<<40, maxBytes))
	}
}

// tally does what housekeeping does for the counters of results.
func (s session) tally() {
	s.Helper()
	if err := s.engine.Tally(s.Context()); err != nil {
		s.Fatalf("tally: %v", err)
	}
}

// derive replaces derived rows of random objects, at their revision or not.
func (p pair) derive(random *rand.Rand) {
	p.Helper()
	var items []engine.Derived
	for _, row := range p.model.list(engine.Query{Resource: reports, Limit: 5}).Rows {
		items = append(items, engine.Derived{
			Resource: reports, Key: row.Key, Revision: row.Revision - engine.Revision(random.IntN(2)),
			Index: randomTerms(random), Projection: about(randomProjection(random), reports, row.Key),
		})
	}
	for _, e := range []engine.Engine{p.engine, p.model.engine} {
		if err := e.Derive(p.Context(), items); err != nil {
			p.Fatalf("derive: %v", err)
		}
	}
}

func between(random *rand.Rand, low, high engine.Revision) engine.Revision {
	return low + engine.Revision(random.Int64N(int64(high-low)+1))
}

// randomBatch makes ops that fit the state of the model, most of them.
func randomBatch(random *rand.Rand, model session, keys int) []engine.Op {
	var ops []engine.Op
	seen := map[place]bool{}
	for range 1 + random.IntN(6) {
		op := engine.Op{
			Kind: engine.Create, Resource: reports, Key: randomKey(random, keys),
			Value: randomValue(random), Index: randomTerms(random), Projection: randomProjection(random),
		}
		if random.IntN(4) == 0 {
			op.Resource = reportsX
		}
		op.Projection = about(op.Projection, op.Resource, op.Key)
		if random.IntN(10) == 0 {
			op.ExpiresAt = 30_000_000_000
		}
		if seen[place{op.Resource, op.Key}] {
			continue
		}
		seen[place{op.Resource, op.Key}] = true
		if row := model.get(op.Resource, op.Key); row != nil && random.IntN(10) > 0 {
			op.Kind = engine.Update + engine.OpKind(random.IntN(5)/3)
			op.Expect = row.Revision
			op.KeepDerived = op.Kind == engine.Update && random.IntN(2) == 0
			if random.IntN(8) == 0 {
				op.Expect--
			}
		}
		ops = append(ops, op)
	}
	return ops
}

func randomKey(random *rand.Rand, keys int) string {
	i := random.IntN(keys)
	return [...]string{"ns-1/", "ns-1-a/", "ns/", "", "é/"}[i%5] + fmt.Sprintf("key-%d", i)
}

func randomValue(random *rand.Rand) engine.Value {
	v := value(strings.Repeat("x", random.IntN(8)) + fmt.Sprint(random.Uint32()))
	v.Codec = uint8(random.IntN(256))
	return v
}

func randomTerms(random *rand.Rand) []engine.Term {
	var terms []engine.Term
	for range random.IntN(4) {
		terms = append(terms, engine.Term{Name: int64(1 + random.IntN(3)), Value: int64(random.IntN(5) - 2)})
	}
	return terms
}

func randomProjection(random *rand.Rand) *engine.Projection {
	if random.IntN(3) == 0 {
		return nil
	}
	return projection(random.IntN(6), random.IntN(5))
}

func randomQuery(random *rand.Rand, state engine.State) engine.Query {
	q := engine.Query{Resource: reports, Count: random.IntN(3) == 0}
	if random.IntN(4) == 0 {
		q.Resource = reportsX
	}
	if random.IntN(3) == 0 {
		q.Prefix = [...]string{"ns-1/", "ns", "é", "nobody/"}[random.IntN(4)]
	}
	if random.IntN(2) == 0 {
		q.Limit = 1 + random.IntN(6)
	}
	if random.IntN(2) == 0 {
		q.After, q.Inclusive = randomKey(random, 30), random.IntN(2) == 0
	}
	if random.IntN(2) == 0 {
		q.At = between(random, max(state.Compacted, 1), state.Revision)
	}
	if random.IntN(2) == 0 {
		q.Conditions = conditionQueries[random.IntN(len(conditionQueries))]
	}
	return q
}
