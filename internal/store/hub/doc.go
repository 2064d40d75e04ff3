// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hub fans the events of one cluster out to watchers. It is pure memory: one ordered feed goes in, and each
// watcher reads at its own pace by a cursor. It starts no goroutines.
//
// A ring bounded in bytes holds the newest events. A watcher whose cursor has left the ring gets the status Behind and
// reads the event table instead until it has caught up: no watcher can slow the feed or another watcher.
package hub
