// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !docket_next

package store

// derivation is the version of what this program derives from objects. It rises by one with each change of the
// index terms (index.go) or the result rows (package results), which TestDerivationIsPinned notices; what a version
// derives must also serve readers of the one before. See docs/operate/storage.md.
const derivation = 2

// fieldNames returns the names of the index terms of a field. Lists select by the last one.
func fieldNames(field string) []int64 { return []int64{fieldName(field)} }
