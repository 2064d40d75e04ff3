// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package object makes objects of any kind: from a sample, or from the schema that the server publishes.
package object
