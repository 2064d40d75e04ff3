// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is the frame that all our commands share: exit codes, signals, help in sections,
// and flags that can also be set by the environment and a file (package settings).
package cli
