// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package checks has the checks of package conformance, one file an area.
package checks
