// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package codec packs encoded objects for storage: zstd with a dictionary of what reports have in common. Each packed
// value names its codec, and no codec is ever changed or removed, so that what was written stays readable; a better
// dictionary becomes a codec of its own.
package codec
