// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package checks has the checks of package conformance: a table for each area, with what the rules say and how they are
// checked. The tests of the package have a table of servers that break these rules: reads_broken_test.go for reads.go.
package checks
