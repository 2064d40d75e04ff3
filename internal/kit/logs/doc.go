// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logs decides what our processes log of what libraries say. Nothing is lost at higher
// verbosity.
package logs
