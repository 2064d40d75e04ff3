// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package served knows what the API serves: which resources, in which versions, of which kinds, and which of
// them the targets of policies match.
//
// Goroutines: one, owned by [Watcher.Run].
package served
