// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness builds the binaries under test, runs `docket up` and control planes
// with `docket serve`, and runs kubectl against them. Tests use it; nothing else does.
//
// The binaries are built once a test process into bin/ of the repository, where the go
// command finds them up to date the next time. Each server has a goroutine that reads
// its output and ends with it; each server ends with its test at the latest.
package harness
