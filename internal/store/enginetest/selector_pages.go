// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// selectorCases page through what conditions select, wherever that lies.
var selectorCases = []testCase{
	{"Pages", testSelectorPages},
	{"PagesOfOldSnapshots", testSelectorPagesOld},
	{"ValueOfOneThenOfMany", testValueSpreads},
	{"AnyOfManyValues", testAnyOfManyValues},
}

// Names of terms of selectorObjects.
const (
	termAll  = 1 // Each object has value 7.
	termOne  = 2 // Each object has a value of its own.
	termEnd  = 3 // The last objects by key have value 7.
	termRare = 4 // A few objects have 7.
	termPair = 5 // A third has one value of three, another one two of them.
)

// selectorObjects creates n objects in the order of neither keys nor terms.
func (p pair) selectorObjects(n int) {
	p.Helper()
	random := rand.New(rand.NewPCG(7, 7))
	order := random.Perm(n)
	for start := 0; start < n; start += 250 {
		var ops []engine.Op
		for _, i := range order[start:min(start+250, n)] {
			op := create(selectorKey(i, n), fmt.Sprint(i))
			op.Index = selectorTerms(i, n)
			ops = append(ops, op)
		}
		p.commit(ops...)
	}
}

// selectorKey is the key of object i of n; they are in the order of i.
func selectorKey(i, n int) string { return fmt.Sprintf("ns-%d/%05d", i*5/n, i) }

func selectorTerms(i, n int) []engine.Term {
	terms := []engine.Term{{Name: termAll, Value: 7}, {Name: termOne, Value: int64(i)}}
	if i >= n/2 {
		terms = append(terms, engine.Term{Name: termEnd, Value: 7})
	}
	if i%(n/9) == 5 {
		terms = append(terms, engine.Term{Name: termRare, Value: 7})
	}
	switch i % 3 {
	case 0:
		terms = append(terms, engine.Term{Name: termPair, Value: int64(i/3) % 3})
	case 1:
		terms = append(terms, engine.Term{Name: termPair, Value: int64(i/3) % 3}, engine.Term{Name: termPair, Value: int64(i/3+1) % 3})
	}
	return terms
}

// selectors are conditions that select objects of selectorObjects.
func selectors() [][]engine.Condition {
	return [][]engine.Condition{
		{{Name: termOne, Values: []int64{17}}},                                                          // one
		{{Name: termOne, Values: []int64{-1}}},                                                          // none
		{{Name: termRare, Values: []int64{7}}},                                                          // few
		{{Name: termEnd, Values: []int64{7}}},                                                           // many
		{{Name: termAll, Values: []int64{7}}},                                                           // all
		{{Name: termOne, Values: []int64{800, 3, 17, -1, 3}}},                                           // some of one
		{{Name: termPair, Values: []int64{2, 0}}},                                                       // two of three
		{{Name: termPair, Values: []int64{0, 1, 2}}},                                                    // all of three
		{{Name: termAll, Values: []int64{7}}, {Name: termOne, Values: []int64{801}}},                    // all and one
		{{Name: termAll, Values: []int64{7}}, {Name: termRare, Values: []int64{7, 8}}, {Name: termEnd}}, // all and few
		{{Name: termEnd, Values: []int64{7}}, {Name: termPair, Values: []int64{1, 2}}},                  // end and pair
		{{Name: termPair, Values: []int64{1}}, {Name: termPair, Values: []int64{2}}},                    // both of pair
		{{Name: termRare}}, // any rare
		{{Name: termOne}},  // any one
		{{Name: termPair}}, // any pair
		{{Name: termOne}, {Name: termEnd, Values: []int64{7}}}, // any, many
		{{Name: termPair}, {Name: termEnd}},                    // any and any
		{{Name: 99}},                                           // any of nobody
	}
}

// comparePages pages through a query, each page compared with the model's. Between pages something may happen.
func (p pair) comparePages(q engine.Query, between func()) {
	p.Helper()
	for {
		p.compareList(q)
		rows := p.model.list(q).Rows
		if len(rows) < q.Limit {
			return
		}
		q.After = rows[len(rows)-1].Key
		between()
	}
}

func testSelectorPages(t *testing.T, target Target) {
	p := target.pair(t)
	const n = 1200
	p.selectorObjects(n)
	for _, conditions := range selectors() {
		for _, prefix := range []string{"", "ns-3/"} {
			q := engine.Query{Resource: reports, Prefix: prefix, Conditions: conditions}
			p.compareList(q)
			for _, limit := range []int{170, 601} {
				q.Limit = limit
				p.comparePages(q, func() {})
			}
			q.Limit, q.After = 3, selectorKey(n-30, n)
			p.comparePages(q, func() {})
			q.After, q.Inclusive, q.Count = selectorKey(17, n), true, true
			p.compareList(q)
		}
	}
}

// testSelectorPagesOld changes objects between the pages of a snapshot.
func testSelectorPagesOld(t *testing.T, target Target) {
	p := target.pair(t)
	const n = 900
	p.selectorObjects(n)
	random := rand.New(rand.NewPCG(8, 8))
	change := func() {
		var ops []engine.Op
		for _, row := range p.model.list(engine.Query{Resource: reports}).Rows {
			switch random.IntN(60) {
			case 0:
				ops = append(ops, remove(row.Key, row.Revision))
			case 1:
				op := update(row.Key, row.Revision, "other terms")
				op.Index = selectorTerms(random.IntN(n), n)
				ops = append(ops, op)
			case 2:
				op := update(row.Key, row.Revision, "the same terms")
				op.KeepDerived = true
				ops = append(ops, op)
			case 3:
				op := create(fmt.Sprintf("%s-%d", row.Key, p.model.state().Revision), "new")
				op.Index = selectorTerms(random.IntN(n), n)
				ops = append(ops, op)
			}
		}
		p.commit(ops...)
	}
	for _, conditions := range selectors() {
		at := p.model.state().Revision
		p.comparePages(engine.Query{Resource: reports, At: at, Conditions: conditions, Limit: 90}, change)
		change()
		p.comparePages(engine.Query{Resource: reports, At: at, Conditions: conditions, Limit: 400, Prefix: "ns-1/"}, change)
		p.comparePages(engine.Query{Resource: reports, Conditions: conditions, Limit: 200}, change)
	}
}

// testValueSpreads: a value belongs to one object, then to more, then to others. An engine may keep the term of a
// value that only one object has in another way.
func testValueSpreads(t *testing.T, target Target) {
	p := target.pair(t)
	look := func() {
		t.Helper()
		for _, conditions := range [][]engine.Condition{
			{{Name: 1, Values: []int64{1}}},
			{{Name: 1, Values: []int64{1, 2}}},
			{{Name: 1, Values: []int64{1}}, {Name: 2, Values: []int64{1}}},
			{{Name: 1}},
		} {
			q := engine.Query{Resource: reports, Conditions: conditions}
			p.compareList(q)
			q.Limit = 2
			p.comparePages(q, func() {})
			q.After, q.Prefix = "b", "b"
			p.compareList(q)
			q.After, q.At = "", max(p.model.state().Revision-2, 1)
			p.comparePages(q, func() {})
		}
	}
	change := func(key, how string, values ...int64) {
		t.Helper()
		op := create(key, how)
		for _, row := range p.model.list(engine.Query{Resource: reports, Prefix: key}).Rows {
			if row.Key == key && how != "create" {
				op = update(key, row.Revision, how)
			}
			if row.Key == key && how == "remove" {
				op = remove(key, row.Revision)
			}
		}
		for _, value := range values {
			op.Index = append(op.Index, engine.Term{Name: 1, Value: value}, engine.Term{Name: 2, Value: 1})
		}
		p.commit(op)
		look()
	}
	change("b", "create", 1)
	change("b", "update", 1)
	change("d", "create", 1)
	change("a", "create", 1, 2)
	change("b", "update", 1, 2)
	change("c", "create", 2)
	change("b", "remove")
	change("d", "update")
	change("a", "update", 2)
	change("b", "create", 1)
	change("e", "create", 1)
	change("b", "remove")
	change("e", "update", 1)
	p.commit(create("ba", "no terms"))
	look()
}

// testAnyOfManyValues: a name has more values than are read one by one, of more objects than are gathered.
func testAnyOfManyValues(t *testing.T, target Target) {
	p := target.pair(t)
	for batch := range 24 {
		var ops []engine.Op
		for i := range 500 {
			i += batch * 500
			op := create(fmt.Sprintf("ns/%05d", i), "")
			op.Index = []engine.Term{{Name: 1, Value: int64(i % 200)}, {Name: 2, Value: int64(i % 3)}, {Name: 3, Value: int64(i)}}
			ops = append(ops, op)
		}
		p.commit(ops...)
	}
	var ops []engine.Op
	for i := range 20 {
		ops = append(ops, create(fmt.Sprintf("ns/%05d-none", i*100), ""))
	}
	at := p.model.state().Revision
	p.commit(ops...)
	for name := range int64(3) {
		q := engine.Query{Resource: reports, Conditions: []engine.Condition{{Name: name + 1}}, Limit: 700}
		p.compareList(q)
		q.After = "ns/05000"
		p.compareList(q)
		q.At = at
		p.compareList(q)
		q.At, q.Conditions = 0, append(q.Conditions, engine.Condition{Name: 3 - name})
		p.compareList(q)
	}
}
