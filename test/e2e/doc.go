// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the finished binaries as their users run them: `docket up` as a
// process of its own, and a real kubectl. Its helpers are in package harness.
//
// It is a module of its own, so that kubectl's dependencies stay out of Docket's.
package e2e
