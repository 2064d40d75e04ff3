// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package questions answers questions about results from an engine's tables: Rows, RowsAbout, Count and First, each
// from top to bottom. It decides which reports have to be read, and reads no others; an engine runs one statement, or a
// few, for each method of Tables, and asks nothing back. No decision depends on statistics.
//
// Reports are read in the order of the answer, which their keys have, and only in the namespaces where counters know of
// results that the filter may select. Where few results meet what the filter demands of one part of them, the reports
// of these are looked up instead: else the rarest results would take the longest.
package questions

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/docket-project/docket/internal/store/engine"
)

// Ask runs f in a snapshot, on a connection for questions, about a cluster: "" for the engine's own. Errors say what
// was being done. f may be run again after a loss of the connection.
type Ask func(ctx context.Context, what, cluster string, f func(ctx context.Context, tables Tables) error) error

// Answers is engine.Questions for an engine, except for Clusters.
type Answers struct{ ask Ask }

// New returns the answers of an engine.
func New(ask Ask) Answers { return Answers{ask} }

// answer runs work in a snapshot, unless no engine could answer the question.
func answer[A any](
	ctx context.Context, ask Ask, what, cluster string, impossible error, work func(ctx context.Context, tables Tables) (A, error),
) (result A, err error) {
	if impossible != nil {
		return result, fmt.Errorf("%s: %w", what, impossible)
	}
	err = ask(ctx, what, cluster, func(ctx context.Context, tables Tables) (err error) {
		result, err = work(ctx, tables)
		return err
	})
	return result, err
}

// Rows implements engine.Questions.
func (a Answers) Rows(ctx context.Context, q engine.RowQuery) (engine.RowPage, error) {
	return answer(ctx, a.ask, "read results", "", q.Check(), func(ctx context.Context, tables Tables) (engine.RowPage, error) {
		return readPage(ctx, tables, q)
	})
}

func readPage(ctx context.Context, tables Tables, q engine.RowQuery) (engine.RowPage, error) {
	page := engine.RowPage{State: tables.State()}
	var err error
	if q.Filter, err = weigh(ctx, tables, q.Kinds, q.Namespace, q.Filter); err != nil {
		return page, err
	}
	q.Namespace = namespaceOf(q.Namespace, q.Filter)
	windows, entries, err := windowsOf(ctx, tables, q)
	if err != nil {
		return page, err
	}
	condition := Condition{Filter: q.Filter, Entries: entries, Confined: q.Namespace != nil}
	var rows []Row
	for size := firstWindows; len(windows) > 0 && len(rows) < q.Limit; size *= 4 {
		n := min(size, len(windows))
		more, err := tables.Read(ctx, windows[:n], condition, q.Limit-len(rows))
		if err != nil {
			return page, err
		}
		rows, windows = append(rows, more...), windows[n:]
	}
	if len(rows) >= q.Limit {
		page.More = true // Perhaps. The last report may have further rows.
		if rows, err = complete(ctx, tables, q, rows); err != nil {
			return page, err
		}
	}
	page.Rows = inOrder(rows)
	return page, nil
}

// complete reads the last report as a whole.
func complete(ctx context.Context, tables Tables, q engine.RowQuery, rows []Row) ([]Row, error) {
	last := rows[len(rows)-1].Report.ReportPlace
	for len(rows) > 0 && rows[len(rows)-1].Report.ReportPlace == last {
		rows = rows[:len(rows)-1]
	}
	whole, err := tables.Read(ctx, namedWindows(q.Kinds, []engine.ReportPlace{last}), Condition{Filter: q.Filter}, 0)
	return append(rows, whole...), err
}

// RowsAbout implements engine.Questions.
func (a Answers) RowsAbout(ctx context.Context, namespace string, kinds []engine.ReportKind, id int64) (engine.RowPage, error) {
	return answer(ctx, a.ask, "read results about a subject", "", nil, func(ctx context.Context, tables Tables) (engine.RowPage, error) {
		page, condition := engine.RowPage{State: tables.State()}, Condition{Subject: &id}
		reports, selective, err := tables.Selective(ctx, engine.PartSubject, condition, &namespace, most)
		if err != nil {
			return page, err
		}
		windows := namedWindows(kinds, inOrderOfPlaces(reports))
		if !selective {
			windows = wholeWindows(kinds, places(kinds, namespace))
		}
		rows, err := tables.Read(ctx, windows, condition, 0)
		page.Rows = inOrder(rows)
		return page, err
	})
}

// Count implements engine.Questions.
func (a Answers) Count(ctx context.Context, q engine.CountQuery) (engine.Counts, error) {
	return answer(ctx, a.ask, "count results", q.Cluster, q.Check(), func(ctx context.Context, tables Tables) (counts engine.Counts, err error) {
		if q.Counted() && tables.Tallied() {
			counts, err = tables.CountCounters(ctx, &q, engine.Both(q.Filter, inScope(q.Kinds, q.Namespace)))
		} else {
			counts, err = countResults(ctx, tables, q)
		}
		counts.State = tables.State()
		return counts, err
	})
}

func countResults(ctx context.Context, tables Tables, q engine.CountQuery) (engine.Counts, error) {
	var err error
	if q.Filter, err = weigh(ctx, tables, q.Kinds, q.Namespace, q.Filter); err != nil {
		return engine.Counts{}, err
	}
	var from Selection
	if from.Verdicts, err = verdictsSuffice(ctx, tables, &q); err == nil && !from.Verdicts {
		from, err = selectionOf(ctx, tables, q.Kinds, q.Namespace, q.Filter)
	}
	if err != nil {
		return engine.Counts{}, err
	}
	return tables.CountResults(ctx, &q, from)
}

// First implements engine.Questions.
func (a Answers) First(ctx context.Context, q engine.OrderQuery) (engine.RowPage, error) {
	return answer(ctx, a.ask, "read results in order", q.Cluster, q.Check(), func(ctx context.Context, tables Tables) (engine.RowPage, error) {
		page := engine.RowPage{State: tables.State()}
		var err error
		if q.Filter, err = weigh(ctx, tables, q.Kinds, q.Namespace, q.Filter); err != nil {
			return page, err
		}
		from, err := selectionOf(ctx, tables, q.Kinds, q.Namespace, q.Filter)
		if err != nil {
			return page, err
		}
		rows, err := tables.First(ctx, &q, from)
		page.More = len(rows) > q.Limit
		page.Rows = resultRows(rows[:min(len(rows), q.Limit)])
		return page, err
	})
}

// inOrder puts the rows of each report in order.
func inOrder(rows []Row) []engine.ResultRow {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(a.Report.Compare(b.Report.ReportPlace), cmp.Compare(a.Index, b.Index), cmp.Compare(a.At.Subject, b.At.Subject), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return resultRows(rows)
}

// resultRows returns rows without where the engine finds them.
func resultRows(rows []Row) []engine.ResultRow {
	results := make([]engine.ResultRow, len(rows))
	for i := range rows {
		results[i] = rows[i].ResultRow
	}
	return results
}
