// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package results turns a report object into the rows that the SQL views show:
// [Project]. It is pure: no database, no clock, no goroutine. The store is handed
// Project as a function, so that the rows join the transaction of the object.
//
// Reports hold whatever a producer wrote, but rows must never make a commit or a
// query fail. What a database can't hold is therefore replaced here, in one place
// for both engines: see docs/operate/sql.md, "Odd values".
//
// The views themselves are migrations of the engines, and their contract is
// docs/operate/sql.md. The tests of this package run every question of that page on both
// engines.
//
// Below it: resultsapi serves results as an API, resultmetrics counts them for Prometheus, resultview is `docket
// results`, console is `docket console`, turns shares what a server can do little of at a time. Imports: reports,
// store, kit. Begin at project.go, or at resultsapi for questions.
package results
