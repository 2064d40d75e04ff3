// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resultsapi serves the group results.docket.dev: results as objects, counts of them, and answers to questions
// ([github.com/docket-project/docket/api/results/v1alpha1]). Nothing is stored: what is served is made from the rows
// that reports leave in the database, by [engine.Questions]. It is read-only, except for questions, which are created
// and not kept. It starts no goroutine.
//
// Names of results. A result has no name in a report, and its place there changes whenever the report is written. So
// its name is made of its subject, and of the fields that identify it in its report: see nameOf.
//
// Pages. Results are listed in the order of their reports, and within a report in the order of their names. A page goes
// on behind a name, and not at a number: whatever is written between two pages, what exists all the time
// is in exactly one of them.
package resultsapi
