// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager is `docket-controller run`. Every replica serves health and metrics, keeps policies compiled and
// the data that they read in memory, and answers admission requests if that is enabled. The leader also runs
// the scanner and the report writer, writes the status of entries, registers the webhook and takes the results
// of all replicas, until the process is told to end or the lease is lost. What requests and the leader need
// ends after them. All goroutines have ended when [Manager.Run] returns.
package manager
