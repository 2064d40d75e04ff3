// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build docket_next

package store

// A program with the tag docket_next stands for the next release, in tests: it selects by index terms that this one
// does not derive, and derives those of this one as well.
const derivation = 3

func fieldNames(field string) []int64 { return []int64{fieldName(field), hash("next\x00" + field)} }
