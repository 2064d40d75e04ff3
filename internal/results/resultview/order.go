// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// Limits of lists in an order.
const (
	DefaultOrdered = 100
	MaxOrdered     = 1000
)

// Order is what results are sorted by; the zero value is the order of their reports.
type Order struct {
	Field      string
	Descending bool
}

// Orders returns what results can be sorted by.
func Orders() []string {
	return []string{
		"timestamp", "severity", "result", "source", "policy", "rule", "category", "report.namespace", "subject.kind", "subject.namespace", "subject.name",
	}
}

// ParseOrder takes FIELD, or FIELD,desc for the opposite direction.
func ParseOrder(text string) (Order, error) {
	if text == "" {
		return Order{}, nil
	}
	field, direction, directed := strings.Cut(text, ",")
	if !slices.Contains(Orders(), field) {
		return Order{}, fmt.Errorf("%q is no order: choose from %s, and append ,desc to turn it around", field, strings.Join(Orders(), ", "))
	}
	if directed && direction != "asc" && direction != "desc" {
		return Order{}, fmt.Errorf("%q is no direction: choose from asc, desc", direction)
	}
	return Order{Field: field, Descending: direction == "desc"}, nil
}

// WorstFirst is Results for a namespace, or for all including what is outside namespaces where that is "", with the
// worst results first: each result and severity that there is is a list of its own.
func (c *Client) WorstFirst(ctx context.Context, namespace string, by Selection, limit int, each func(*v1alpha1.PolicyResult) error) (more bool, err error) {
	status, err := c.Query(ctx, Extent{Namespace: namespace}, v1alpha1.ResultQuerySpec{Filter: by.expression(), GroupBy: []string{"result", "severity"}})
	if err != nil {
		return false, err
	}
	slices.SortStableFunc(status.Groups, func(a, b v1alpha1.ResultGroup) int {
		return cmp.Or(cmp.Compare(rankIn(resultNames, a.By["result"]), rankIn(resultNames, b.By["result"])),
			cmp.Compare(rankIn(severityNames, a.By["severity"]), rankIn(severityNames, b.By["severity"])))
	})
	places := []Place{{Namespace: namespace}}
	if namespace == "" {
		places = append(places, Place{Global: true})
	}
	seen, all := 0, 0
	for i := range status.Groups {
		all += int(status.Groups[i].Results)
	}
	for i := range status.Groups {
		one := by
		one.Results, one.Severities = []string{status.Groups[i].By["result"]}, []string{status.Groups[i].By["severity"]}
		for _, place := range places {
			if limit > 0 && seen >= limit {
				return seen < all, nil
			}
			further, err := c.Results(ctx, place, one, max(0, limit-seen), func(r *v1alpha1.PolicyResult) error {
				seen++
				return each(r)
			})
			if further || err != nil {
				return further, err
			}
		}
	}
	return false, nil
}

// First calls each for the first results of a namespace in an order, or of everything where that is "", until it
// returns an error. It returns how many there are behind these.
func (c *Client) First(ctx context.Context, namespace string, by Selection, order Order, limit int, each func(*v1alpha1.PolicyResult) error) (left int64, err error) {
	status, err := c.Query(ctx, Extent{Namespace: namespace}, v1alpha1.ResultQuerySpec{
		Filter: by.expression(), Results: &v1alpha1.ResultOrder{OrderBy: order.Field, Descending: order.Descending, Limit: int32(limit)},
	})
	if err != nil {
		return 0, err
	}
	for i := range status.Results {
		r := &status.Results[i]
		if err := each(&v1alpha1.PolicyResult{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}, Result: r.Result}); err != nil {
			return 0, err
		}
	}
	if !status.More {
		return 0, nil
	}
	all, err := c.Query(ctx, Extent{Namespace: namespace}, v1alpha1.ResultQuerySpec{Filter: by.expression()})
	if err != nil || len(all.Groups) == 0 {
		return 0, err
	}
	// At least one: results may have come or gone between the questions.
	return max(1, all.Groups[0].Results-int64(len(status.Results))), nil
}
