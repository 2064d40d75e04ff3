// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
)

// Bound is a condition on a number that counts have.
type Bound struct {
	// Of is OrderResults, or a number that the query asks for: OrderSubjects, OrderNamespaces, OrderPolicies or
	// OrderSources.
	Of Field
	// Operator compares the number, which is on the left, with Number.
	Operator Operator
	Number   int64
}

// Operators of bounds, beside LessThan, GreaterThan and EqualTo.
const (
	AtMost     Operator = "<="
	AtLeast    Operator = ">="
	NotEqualTo Operator = "<>"
)

// MaxBounds is how many bounds a query has at most.
const MaxBounds = 20

// Meets reports whether a number meets the bound.
func (b Bound) Meets(number int64) bool {
	switch b.Operator {
	case LessThan:
		return number < b.Number
	case AtMost:
		return number <= b.Number
	case GreaterThan:
		return number > b.Number
	case AtLeast:
		return number >= b.Number
	case NotEqualTo:
		return number != b.Number
	default:
		return number == b.Number
	}
}

// number returns a number of a count, and whether there is one of that name.
func (c *Count) number(of Field) (n int64, ok bool) {
	switch of {
	case OrderResults:
		return c.Results, true
	case OrderSubjects:
		return c.Subjects, true
	case OrderNamespaces:
		return c.Namespaces, true
	case OrderPolicies:
		return c.Policies, true
	case OrderSources:
		return c.Sources, true
	case OrderClusters:
		return c.Clusters, true
	case OrderOldest:
		return c.Oldest, true
	case OrderNewest:
		return c.Newest, true
	default:
		return 0, false
	}
}

// Meets reports whether a count meets all bounds of the query.
func (q *CountQuery) Meets(c *Count) bool {
	for _, bound := range q.Having {
		if n, _ := c.number(bound.Of); !bound.Meets(n) {
			return false
		}
	}
	return true
}

func (q *CountQuery) checkBounds() error {
	if len(q.Having) > MaxBounds {
		return fmt.Errorf("there are %d bounds, more than %d", len(q.Having), MaxBounds)
	}
	requested := map[Field]bool{
		OrderResults: true, OrderSubjects: q.Subjects, OrderNamespaces: q.Namespaces, OrderPolicies: q.Policies, OrderSources: q.Sources,
	}
	operators := []Operator{LessThan, AtMost, GreaterThan, AtLeast, EqualTo, NotEqualTo}
	for _, bound := range q.Having {
		if !requested[bound.Of] || !slices.Contains(operators, bound.Operator) {
			return fmt.Errorf("counts can't be bounded by %s %s, which the query doesn't ask for, or which is no comparison", bound.Of, bound.Operator)
		}
	}
	return nil
}
