// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enginetest has the policies, subjects and requests of the tests of Kyverno's engines, and says what the
// tests want of them.
package enginetest
