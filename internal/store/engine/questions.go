// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "context"

// Questions answers questions about results, from the rows that Projections left: all that the results API needs of a
// database, and none of it is for the store. Answers are those of one snapshot. They use connections of their own, so
// that questions never keep reports waiting. What takes too long ends with the error of its context, or after 30 s with
// ErrUnavailable.
//
// Rows hold what [Projection] says, so texts in messages that name the resource are placeholders.
type Questions interface {
	// Rows returns result rows in the order of their reports: by namespace, kind and name, bytewise. Rows of a report
	// are in the order of Index, those of one Index in the order of the IDs of their subjects: no engine keeps the
	// order in which an entry names these.
	Rows(ctx context.Context, q RowQuery) (RowPage, error)

	// RowsAbout returns the rows that are about a subject in reports of a namespace, in the order of Rows. id is
	// Subject.ID.
	RowsAbout(ctx context.Context, namespace string, kinds []ReportKind, id int64) (RowPage, error)

	// Count counts rows by their fields. Where counters know all that is asked (CountQuery.Counted), it reads these.
	Count(ctx context.Context, q CountQuery) (Counts, error)

	// First returns the first rows in an order; RowPage.More says for certain whether there are more.
	First(ctx context.Context, q OrderQuery) (RowPage, error)

	// Clusters returns the clusters of the database that can be read, in the order of their names. It counts reports of
	// these kinds.
	Clusters(ctx context.Context, kinds []ReportKind) ([]Cluster, error)
}
