// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package checks has the checks of package conformance. Each is a type with three methods that stand
// together: check has what the rule says, run is how it is checked, and broken a server that breaks
// the rule.
package checks
