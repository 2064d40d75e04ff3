// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

// Poller is an engine that can't always be told of commits of other processes.
type Poller interface {
	// Polls reports whether it has to ask for them, which is later and costs more.
	Polls() bool
}
