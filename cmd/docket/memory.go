// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "runtime/debug"

// gcPercent trades some processor time for memory: most of the heap at rest is
// the API machinery's, and doubling it before each collection would be waste.
const gcPercent = 50

// limitMemory sets how eagerly memory is collected, unless the user said so by
// the Go runtime's own variables.
func limitMemory(lookupEnv func(string) (string, bool)) {
	if _, set := lookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
}
