// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// MisstatedQuery asks for reports whose summaries are wrong. Every result of the reports that it selects is read for each page.
type MisstatedQuery struct {
	// Kinds and Namespace are those of a RowQuery.
	Kinds     []ReportKind
	Namespace *string
	// Filter on what all rows of a report have in common (PartReport); nil for all reports.
	Filter *Filter
	// After: only reports behind this one. Zero for all.
	After ReportPlace
	// Limit is the largest number of reports. Positive.
	Limit int
}

// Check returns an error if no engine could answer the query.
func (q *MisstatedQuery) Check() error {
	if q.Filter.Parts()&^PartReport != 0 {
		return errors.New("reports can't be selected by their results here")
	}
	if place := q.After.Namespace + "/" + q.After.Kind + "/" + q.After.Name; !utf8.ValidString(place) || strings.Contains(place, "\x00") {
		return errors.New("the place to continue after is not the name of a report")
	}
	if q.Limit <= 0 {
		return errors.New("the limit of reports is not positive")
	}
	return checkScope(q.Kinds, q.Filter)
}

// Page returns the answer of which one report more than the limit was found, if there is one.
func (q *MisstatedQuery) Page(found []Misstated, state State) MisstatedPage {
	n := min(len(found), q.Limit)
	return MisstatedPage{Reports: found[:n], More: n < len(found), State: state}
}

// Misstated is a report whose summary states another number of some outcome than it has entries with.
type Misstated struct {
	ReportRow

	// Stated is what the summary says; a report without one states none. Held is what its entries say.
	Stated, Held Outcomes
}

// Fields returns where the columns of a report that is found go: those of the report, then what it states and what it holds, in the order of
// [Outcomes.Counts].
func (m *Misstated) Fields() []any {
	fields := []any{&m.Namespace, &m.Kind, &m.Name, &m.UID, &m.CreatedAt}
	for _, of := range []*Outcomes{&m.Stated, &m.Held} {
		for _, outcome := range of.Counts() {
			fields = append(fields, outcome.Count)
		}
	}
	return fields
}

// Outcomes are numbers of entries of a report by what they say.
type Outcomes struct{ Pass, Fail, Warn, Error, Skip int64 }

// Counts returns where the number of each outcome is, by what entries say.
func (o *Outcomes) Counts() []OutcomeCount {
	return []OutcomeCount{{"pass", &o.Pass}, {"fail", &o.Fail}, {"warn", &o.Warn}, {"error", &o.Error}, {"skip", &o.Skip}}
}

// OutcomeCount is the number of entries with an outcome. The outcome is also the name of the column that reports have for what they state.
type OutcomeCount struct {
	Outcome string
	Count   *int64
}

// MisstatedPage is the answer to a MisstatedQuery.
type MisstatedPage struct {
	Reports []Misstated
	// More says that there are further ones.
	More bool
	// State of the snapshot.
	State State
}
