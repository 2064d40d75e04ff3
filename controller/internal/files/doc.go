// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package files has no code: the packages below it work without a cluster. filescan is `docket-controller scan`, with
// manifest reading its files; convert is what docket-convert does, with a proof that results stay the same.
//
// Imports: policy, cluster, cache, report. Begin at filescan.
package files
