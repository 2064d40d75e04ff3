// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package program is what docket-controller and docket-convert have in common: the engines that evaluate policies,
// the flags of what is read, and exit codes.
//
// Imports: manager, files, cache, policy and its engines. Begin at [Input].
package program
