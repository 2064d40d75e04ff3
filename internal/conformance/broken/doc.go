// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package broken has servers that break one rule of Kubernetes APIs each, to prove that the check of
// that rule fails on them and no other check does. Each is a proxy in front of a good server. Only
// tests import it.
package broken
