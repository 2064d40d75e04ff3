// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reports has no code: the packages below it say what a report is. definition reads custom resource
// definitions, schema judges objects by the schema of one, document reads and writes a report as JSON with typed
// metadata, kinds serves any kind from a row of a table, and registry is the table of the six kinds of reports.
//
// Imports: api. Begin at registry/kinds.go, where each kind is a row; a printed column is a row of
// registry/columns.go.
package reports
