// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager is `docket-controller run`: it serves health and metrics, waits to become the
// leader, and then runs the scanner and the report writer until it is told to end or the lease
// is lost. Every goroutine that it starts has ended when [Manager.Run] returns.
package manager
