// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operand finds operands that Kyverno's classic engine can't read, and for which it gives a verdict all the
// same: it takes them for zero, for empty or for false.
package operand
