// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"context"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// light is how many comparisons a filter may have in any case.
	light = 10
	// budget is how many comparisons may be made with all results together: seconds, and less than questions may take.
	budget = 20_000_000
)

// Weigh returns a filter with what counters know before the rest, so that the rest is held against few results, or engine.CostlyError if
// there is too much to compare. Where counters are not kept, nobody knows.
func Weigh(ctx context.Context, source Source, kinds []engine.ReportKind, namespace *string, filter *engine.Filter) (*engine.Filter, error) {
	counted, others := filter.Select((*engine.Filter).Counted)
	ordered := engine.Both(counted, others)
	all, most := filter.Comparisons()
	if all <= light {
		return ordered, nil
	}
	scope := engine.CountQuery{Kinds: kinds, Namespace: namespace, Limit: 1}
	results, _, err := source.Counted(ctx, scope)
	if err != nil {
		return nil, err
	}
	scope.Filter = counted
	left, _, err := source.Counted(ctx, scope)
	if err != nil {
		return nil, err
	}
	first, _ := counted.Comparisons()
	second, _ := others.Comparisons()
	if cost := results*first + left*second; cost > budget {
		return nil, &engine.CostlyError{Cost: cost, Allowed: budget, Most: most}
	}
	return ordered, nil
}
