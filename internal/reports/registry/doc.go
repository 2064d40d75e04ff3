// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry serves kinds from their definitions: names, fields that can be selected, printed columns, validation
// and update rules. [Kinds] has those of reports, whose definitions are built in, and [FromDefinition] makes others.
// Everything works on any of them, so that no kind can drift away from the others: models for OpenAPI, answers that are
// made of stored JSON, and managed fields. A client of the custom resource definitions can't tell the difference.
//
// [Server] serves kinds in groups, which may come, change and go while the server runs. Storage comes from the caller
// as a generic.RESTOptionsGetter. The package starts no goroutine.
package registry
