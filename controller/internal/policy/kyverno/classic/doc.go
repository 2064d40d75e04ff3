// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package classic evaluates ClusterPolicy and Policy (kyverno.io) with Kyverno's classic engine, and
// PolicyExceptions of that group.
package classic
