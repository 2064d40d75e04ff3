// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "fmt"

// CostlyError refuses a question before anything is read for it.
type CostlyError struct {
	// Cost is how many comparisons it would take, and Allowed how many may be made for a question.
	Cost, Allowed int64
	// Most is the field that is compared most often.
	Most Field
}

// Error implements error.
func (e *CostlyError) Error() string {
	return fmt.Sprintf("the filter takes about %d comparisons with results, most of them with %s, and a question may take %d: leave out conditions on %s, "+
		"or select fewer results by report.namespace, source, policy, rule, category, severity or result", e.Cost, e.Most, e.Allowed, e.Most)
}

// MaxGroups is of how many groups an engine makes an answer that keeps them in memory, whatever a query leaves out of
// these: more only if its Limit is.
const MaxGroups = 50_000

// CrowdedError ends a question of which there are more groups.
type CrowdedError struct{ Allowed int }

// Error implements error.
func (e *CrowdedError) Error() string {
	return fmt.Sprintf("there are more than %d groups: group by fewer fields, or select fewer results", e.Allowed)
}

// valuesOfComparison are found among in the time that it takes to compare a text.
const valuesOfComparison = 16

// Comparisons returns how many comparisons the filter makes with a result, and the field that it compares most often.
func (f *Filter) Comparisons() (number int64, most Field) {
	of := map[Field]int64{}
	f.compare(of)
	for field, n := range of {
		number += n
		if n > of[most] || n == of[most] && field < most {
			most = field
		}
	}
	return number, most
}

func (f *Filter) compare(of map[Field]int64) {
	if f == nil {
		return
	}
	if f.Field != "" {
		of[f.Field] += 1 + int64(len(f.Values)/valuesOfComparison)
	}
	for _, operand := range f.Operands {
		operand.compare(of)
	}
}
