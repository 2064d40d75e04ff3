// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build docket_previous

package engine

// A program with the tag docket_previous stands for the release before, in tests: it reads what this one writes,
// and writes the format before.
const (
	ReadsFormat  Format = 1
	WritesFormat Format = 0
)
