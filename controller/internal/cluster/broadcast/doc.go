// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package broadcast tells other parts of the process that something has changed: a [Signal] calls the
// functions of its subscribers, and a [Trigger] wakes one goroutine.
//
// Goroutines: none.
package broadcast
