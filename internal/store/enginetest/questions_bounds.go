// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// aggregates returns a query with some of the numbers, by the bits of n.
func aggregates(q engine.CountQuery, n int) engine.CountQuery {
	q.Policies, q.Sources, q.Namespaces, q.Subjects, q.Times = n&1 != 0, n&2 != 0, n&4 != 0, n&8 != 0, n&16 != 0
	return q
}

// numbers are those that a query's counts have.
func numbers(q engine.CountQuery) []engine.Field {
	all := []engine.Field{engine.OrderResults}
	for _, one := range []struct {
		of        engine.Field
		requested bool
	}{{engine.OrderPolicies, q.Policies}, {engine.OrderSources, q.Sources}, {engine.OrderNamespaces, q.Namespaces}, {engine.OrderSubjects, q.Subjects}} {
		if one.requested {
			all = append(all, one.of)
		}
	}
	return all
}

// operators compare a number of a count.
func operators() []engine.Operator {
	return []engine.Operator{engine.LessThan, engine.AtMost, engine.GreaterThan, engine.AtLeast, engine.EqualTo, engine.NotEqualTo}
}

// testAggregates counts with all numbers, from counters before and after they are moved, and from results.
func testAggregates(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(append(oddMessages(), questioned()...)...)
	ask := func() {
		t.Helper()
		for _, by := range [][]engine.Field{
			nil, {engine.FieldNamespace}, {engine.FieldResult, engine.FieldReportKind}, {engine.FieldSource}, {engine.FieldPolicy}, {engine.FieldSubjectName},
			{engine.FieldReport}, {engine.FieldTemplate}, {engine.FieldDay},
		} {
			for _, f := range []*engine.Filter{nil, engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectKind, "Pod"), engine.Negate(nil)} {
				for _, n := range []int{0, 1, 2, 3, 4, 7, 8, 16, 31} {
					q := aggregates(engine.CountQuery{Kinds: questionKinds, By: by, Filter: f, Limit: 1000, Descending: n%2 == 0}, n)
					q.OrderBy = numbers(q)[n%len(numbers(q))]
					p.compareCounts(q)
				}
			}
		}
	}
	ask()
	p.session.tally()
	ask()
	// What is counted down to nothing, here and where it is moved to, is in no number.
	p.commit(remove("a/odd", p.model.get(reports, "a/odd").Revision))
	ask()
}

// testBounds counts with bounds, which are met before the limit.
func testBounds(t *testing.T, target Target) {
	p := target.pair(t)
	p.commit(append(oddMessages(), questioned()...)...)
	for _, by := range [][]engine.Field{nil, {engine.FieldNamespace}, {engine.FieldPolicy}, {engine.FieldSubjectName, engine.FieldResult}} {
		q := engine.CountQuery{Kinds: questionKinds, By: by, Limit: 2}
		for _, q := range []engine.CountQuery{q, aggregates(q, 7), aggregates(q, 15)} {
			for _, of := range numbers(q) {
				for _, operator := range operators() {
					for _, number := range []int64{math.MinInt64, -1, 0, 1, 2, 5, math.MaxInt64} {
						q.Having = []engine.Bound{{Of: of, Operator: operator, Number: number}}
						p.compareCounts(q)
						q.Having = append(q.Having, engine.Bound{Of: engine.OrderResults, Operator: engine.GreaterThan, Number: 1})
						p.compareCounts(q)
					}
				}
			}
		}
	}
	none := p.count(engine.CountQuery{Kinds: questionKinds, Limit: 1, Having: []engine.Bound{{Of: engine.OrderResults, Operator: engine.LessThan, Number: 1}}})
	if len(none.Counts) != 0 || none.More {
		t.Errorf("a bound that nothing meets: got %v", none)
	}
}

// randomBounds returns bounds on numbers that a query asks for; often none.
func randomBounds(random *rand.Rand, q engine.CountQuery) (bounds []engine.Bound) {
	of := numbers(q)
	for random.IntN(3) == 0 {
		bounds = append(bounds, engine.Bound{
			Of: of[random.IntN(len(of))], Operator: operators()[random.IntN(len(operators()))], Number: int64(random.IntN(6)),
		})
	}
	return bounds[:min(len(bounds), engine.MaxBounds)]
}
