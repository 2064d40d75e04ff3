// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package kyverno

// raceMemory is for tests without the race detector.
const raceMemory = 1
