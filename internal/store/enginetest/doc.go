// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enginetest holds what every engine must pass and the model that says what is right.
//
// Run checks the guarantees of package engine, one subtest each. Model is an engine in memory, written to be read
// rather than to be fast: where an engine and the model differ visibly, the engine is wrong. RunKill checks that what
// was acknowledged survives the death of the process; it needs Child at the start of the package's TestMain.
//
// Every goroutine that the suite starts ends before the subtest that started it.
package enginetest
