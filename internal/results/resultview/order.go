// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
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
