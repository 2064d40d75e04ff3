// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reports has no code: the packages below it say what a report is. definition reads custom resource
// definitions, schema judges objects by the schema of one, document reads and writes an object as JSON with typed
// metadata, kinds serves any kind from a row of a table, registry makes such rows of definitions, and serves them in
// groups that may change, and openapidoc publishes OpenAPI documents.
//
// Imports: api, kit/manifests. Begin at registry/kinds.go, where a definition becomes a kind; reports are defined in
// definition/reports.yaml.
package reports
