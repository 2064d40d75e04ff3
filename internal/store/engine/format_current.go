// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !docket_next

package engine

const (
	// ReadsFormat is the newest format that this program reads.
	ReadsFormat Format = 1
	// WritesFormat is the format that it writes: never above what the release before reads.
	WritesFormat Format = 1
)
