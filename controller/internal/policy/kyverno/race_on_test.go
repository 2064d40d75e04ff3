// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package kyverno

// raceMemory is by how much the race detector may multiply memory, which it shadows.
const raceMemory = 4
