// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness runs `docket up` and control planes with `docket serve`, and kubectl
// against them. Tests use it; nothing else does.
//
// hack/build.sh builds the programs. Each server has a goroutine that reads
// its output and ends with it; each server ends with its test if not sooner.
package harness
