// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build docket_next

package engine

// A program with the tag docket_next stands for the next release, in tests: it reads a format that it does not write
// yet.
const (
	ReadsFormat  Format = 2
	WritesFormat Format = 1
)
