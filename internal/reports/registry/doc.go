// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry says how the six kinds of reports are served: their names, fields that
// can be selected, printed columns, validation and update rules. [Kinds] is the one table
// of them, which package kinds serves; what only reports have works on any of its rows, so
// that no kind can drift away from the others: models for OpenAPI, answers that are made of
// stored JSON, and managed fields.
//
// The rules come from the custom resource definitions that the groups publish:
// a client of these can't tell the difference.
//
// Entry points are [NewScheme] and [APIGroups]. Storage comes from the caller as a
// generic.RESTOptionsGetter. The package keeps no state and starts no goroutine.
package registry
