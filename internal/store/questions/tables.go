// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"cmp"
	"context"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// Place is a namespace and a kind of reports.
type Place struct{ Namespace, Kind string }

func (p Place) compare(other Place) int {
	return cmp.Or(strings.Compare(p.Namespace, other.Namespace), strings.Compare(p.Kind, other.Kind))
}

// Window is a range of reports of a place, by the keys of their objects: from From on, and below To.
type Window struct {
	Place

	Resource engine.Resource
	From, To string
}

// Condition is what rows have to meet.
type Condition struct {
	*engine.Filter
	// Subject is the ID of their subject; nil for any.
	Subject *int64
	// Entries is how many results meet what the filter demands of verdicts, where that was counted and is many. An
	// engine may find these first, to read no report without them.
	Entries int64
	// Confined says that only the verdicts of the results that are read are looked at: nobody learns from the time that
	// an answer takes what there is in other namespaces.
	Confined bool
}

// Row is a result row, and where the engine finds it.
type Row struct {
	engine.ResultRow

	At Numbers
}

// Selection is what Count and First have to read.
type Selection struct {
	// Filter on rows, with the kinds and the namespace of the question.
	Filter *engine.Filter
	// Windows have all rows that the filter selects; Whole says that these are everywhere.
	Windows []Window
	Whole   bool
	// Verdicts says that all that is asked for is in verdicts, of all reports: their index has it.
	Verdicts bool
}

// Tables are an engine's tables in one snapshot. Each method but the first three runs a statement.
type Tables interface {
	// State returns the state of the snapshot.
	State() engine.State
	// Tallied reports whether counters are kept.
	Tallied() bool
	// Plans reports whether the engine finds out itself where Count and First begin to read: selections are Whole.
	Plans() bool

	// Places returns the places from one on where rows may be that a filter selects whose fields are all counted, in
	// their order. It may stop when those behind the first have enough rows; 0 is never.
	Places(ctx context.Context, counted *engine.Filter, from Place, enough int) ([]Place, error)

	// Selective returns the reports that have rows which meet a condition on one part of results, in any order and more
	// than once or not. It gives up, and returns false, when that is more than limit. It may be asked about a namespace
	// for subjects only.
	Selective(ctx context.Context, part engine.Part, condition Condition, namespace *string, limit int) (reports []engine.ReportPlace, selective bool, err error)

	// Read returns the first rows in some windows that meet a condition, in the order of windows and keys. Those of a
	// report are in any order. A limit of 0 is none.
	Read(ctx context.Context, windows []Window, condition Condition, limit int) ([]Row, error)

	// CountCounters answers a query from the counters, which know all that is asked, and are kept. The filter is the
	// query's, with its kinds and namespace.
	CountCounters(ctx context.Context, q *engine.CountQuery, filter *engine.Filter) (engine.Counts, error)

	// CountResults answers a query from results.
	CountResults(ctx context.Context, q *engine.CountQuery, from Selection) (engine.Counts, error)

	// First returns the first rows in an order, one more than the limit if there are as many.
	First(ctx context.Context, q *engine.OrderQuery, from Selection) ([]Row, error)
}
