// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build docket_previous

package store

// A program with the tag docket_previous stands for the release before, in tests: it derives less, and knows itself
// to be older.
const (
	derivation    = 0
	derivesFields = false
)
