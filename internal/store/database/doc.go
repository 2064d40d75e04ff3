// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database opens the engine that a URL names. It is the only importer of the engines.
package database
