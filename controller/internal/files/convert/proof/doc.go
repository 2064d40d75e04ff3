// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proof compares the results of policies with those of the policies that they were converted to.
//
// It starts no goroutine but those of package filescan.
package proof
