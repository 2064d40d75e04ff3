// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// largeCases have enough objects and history that an engine which plans its reads takes other ways than with a few.
var largeCases = []testCase{
	{"ThousandsOfObjects", testLarge},
	{"SnapshotBeforeEverythingWasDeleted", testAllDeleted},
	{"MoreThanIsCounted", testCountCap},
}

// largeObjects is the number of objects of the large cases.
const largeObjects = 3000

// load creates objects: term 1 has few values with many objects each, term 2 one for each object, term 3 is rare.
func (p pair) load(n int) {
	p.Helper()
	for i := 0; i < n; {
		var ops []engine.Op
		for range 500 {
			op := create(fmt.Sprintf("ns-%d/%05d", i%7, i), fmt.Sprint(i))
			op.Index = []engine.Term{{Name: 1, Value: int64(i % 2)}, {Name: 2, Value: int64(i)}}
			if i%100 == 0 {
				op.Index = append(op.Index, engine.Term{Name: 3, Value: int64(i % 3)})
			}
			ops = append(ops, op)
			i++
		}
		p.commit(ops...)
	}
}

func testLarge(t *testing.T, target Target) {
	p := target.pair(t)
	p.load(largeObjects)
	random := rand.New(rand.NewPCG(10, 10))
	for range 4 {
		var ops []engine.Op
		for _, row := range p.model.list(engine.Query{Resource: reports}).Rows {
			if random.IntN(5) > 0 {
				continue
			}
			op := update(row.Key, row.Revision, fmt.Sprintf("%s changed", row.Key))
			op.Index = []engine.Term{{Name: 1, Value: int64(random.IntN(3))}, {Name: 2, Value: int64(row.Revision)}}
			if random.IntN(3) == 0 {
				op = remove(row.Key, row.Revision)
			}
			ops = append(ops, op)
		}
		p.commit(ops...)
	}
	conditions := [][]engine.Condition{
		nil,
		{{Name: 1, Values: []int64{1}}},
		{{Name: 1}},
		{{Name: 1, Values: []int64{0, 2}}, {Name: 2}},
		{{Name: 2, Values: []int64{17, 1717, 2999}}},
		{{Name: 1, Values: []int64{1}}, {Name: 3, Values: []int64{0, 1}}},
	}
	last := p.model.state().Revision
	for _, at := range []engine.Revision{0, last - 3, last - 900, last - 1700, largeObjects / 2} {
		for _, c := range conditions {
			q := engine.Query{Resource: reports, At: at, Conditions: c, Count: true}
			p.compareList(q)
			q.Limit = 70
			for _, after := range []string{"", "ns-2/01", "ns-6/02900"} {
				q.After = after
				p.compareList(q)
			}
			q.After, q.Count, q.Limit = "", false, 700
			p.same("all pages", p.pages(q, false), p.model.pages(q, false))
		}
	}
	p.compact(largeObjects)
	p.model.compact(largeObjects)
	p.compareList(engine.Query{Resource: reports, At: largeObjects, Limit: 100, Count: true})
	p.same("events", p.eventsAfter(largeObjects), p.model.eventsAfter(largeObjects))
}

func testAllDeleted(t *testing.T, target Target) {
	p := target.pair(t)
	p.load(largeObjects)
	at := p.model.state().Revision
	var ops []engine.Op
	for _, row := range p.model.list(engine.Query{Resource: reports}).Rows {
		ops = append(ops, remove(row.Key, row.Revision))
	}
	p.commit(ops...)
	for _, limit := range []int{0, 1, 700} {
		p.compareList(engine.Query{Resource: reports, At: at, Limit: limit, Count: true})
		p.compareList(engine.Query{Resource: reports, Limit: limit, Count: true})
	}
	q := engine.Query{Resource: reports, At: at, Limit: 500}
	p.same("all pages", p.pages(q, false), p.model.pages(q, false))
}

// testCountCap: keys are counted up to a bound, and all of them only where a sum has the answer.
func testCountCap(t *testing.T, target Target) {
	p := target.pair(t)
	p.load(engine.CountCap + 500)
	objects := p.model.state().Revision - 1
	before := p.model.state().Revision
	p.commit(create("ns-0/", ""), create("ns-9/", ""))
	for name, c := range map[string]struct {
		q    engine.Query
		want int64
	}{
		"all":               {engine.Query{}, int64(objects) + 2 - 10},
		"all, before":       {engine.Query{At: before}, -1},
		"all by a prefix":   {engine.Query{Prefix: "ns-"}, -1},
		"after a key":       {engine.Query{After: "ns-0/00000"}, -1},
		"to the bound":      {engine.Query{Prefix: "ns-", After: "ns-0/03430"}, engine.CountCap},
		"above the bound":   {engine.Query{Prefix: "ns-", After: "ns-0/03423"}, -1},
		"bound, before":     {engine.Query{Prefix: "ns-", After: "ns-0/03430", At: before}, engine.CountCap - 1},
		"above, and before": {engine.Query{Prefix: "ns-", After: "ns-0/03416", At: before}, -1},
	} {
		c.q.Resource, c.q.Limit, c.q.Count = reports, 10, true
		p.same(name, p.list(c.q).Remaining, c.want)
	}
}
