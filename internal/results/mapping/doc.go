// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mapping reads results from objects that are no reports. A [Mapping] says for one kind where its results are
// and what each field of a result is, in CEL; a [Set] has those of Trivy, which are built in, and those of files.
// docs/produce/result-mappings.md describes the format.
//
// Expressions are compiled once, and the result of one is a function of the object alone: rows are derived again
// after an upgrade, and must be the same. What an object may cost is bounded. Where a mapping fails, the result is an
// error that the rows show, and the object is stored all the same.
//
// Begin at [Set.Of] and [Mapping.Report].
package mapping
