// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package checks has the checks of package conformance. Each is a function that returns what the rule says and
// how it is checked. The tests of the package have a server that breaks the rule, in the file of its area:
// reads_broken_test.go for reads.go.
package checks
