// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"context"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// light is how many comparisons a filter may always have.
	light = 10
	// budget is how many comparisons may be made with all results together: seconds, and less than questions may take.
	budget = 20_000_000
)

// weigh returns a filter with what counters know before the rest, so that the rest is compared with few results, or
// engine.CostlyError if there is too much to compare. Where counters are not kept, nobody knows.
func weigh(ctx context.Context, tables Tables, kinds []engine.ReportKind, namespace *string, filter *engine.Filter) (*engine.Filter, error) {
	known, others := filter.Select((*engine.Filter).Counted)
	ordered := engine.Both(known, others)
	all, most := filter.Comparisons()
	if all <= light {
		return ordered, nil
	}
	scope := inScope(kinds, namespace)
	results, err := counted(ctx, tables, scope)
	if err != nil {
		return nil, err
	}
	left, err := counted(ctx, tables, engine.Both(known, scope))
	if err != nil {
		return nil, err
	}
	first, _ := known.Comparisons()
	second, _ := others.Comparisons()
	if cost := results*first + left*second; cost > budget {
		return nil, &engine.CostlyError{Cost: cost, Allowed: budget, Most: most}
	}
	return ordered, nil
}

// counted returns the number of results that a filter selects whose fields are all counted, 0 where counters are not
// kept.
func counted(ctx context.Context, tables Tables, filter *engine.Filter) (int64, error) {
	if !tables.Tallied() {
		return 0, nil
	}
	counts, err := tables.CountCounters(ctx, &engine.CountQuery{Limit: 1}, filter)
	if err != nil {
		return 0, err
	}
	return counts.Counts[0].Results, nil
}

// Named selects the verdicts as they are stored whose messages have placeholders for the names of the subject.
func Named() *engine.Filter {
	named := &engine.Filter{Operator: engine.Any}
	for _, placeholder := range engine.Placeholders {
		named.Operands = append(named.Operands,
			&engine.Filter{Operator: engine.Contains, Field: engine.FieldMessage, Values: []string{string(placeholder)}})
	}
	return named
}

// Verdicts returns what a filter demands of verdicts as they are stored, where FieldMessage is the template of the
// message, what it demands of messages, and what else rows have to meet. A message that is not Named is its template,
// and meets what is demanded of it if its verdict does.
func Verdicts(f *engine.Filter) (verdicts, messages, others *engine.Filter) {
	verdicts, others = f.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartVerdict })
	messages, others = others.Select(func(f *engine.Filter) bool {
		ofVerdicts := true
		f.Uses(func(field engine.Field) { ofVerdicts = ofVerdicts && field.Part()&engine.PartVerdict != 0 })
		return ofVerdicts && f.Parts() != 0
	})
	if messages != nil {
		verdicts = engine.Both(verdicts, &engine.Filter{Operator: engine.Any, Operands: append([]*engine.Filter{messages}, Named().Operands...)})
	}
	return verdicts, messages, others
}

// matchesNoSubject reports whether a condition on subjects selects rows that have none.
func matchesNoSubject(f *engine.Filter) bool {
	return f.Match(func(engine.Field) string { return "" }, 0)
}
