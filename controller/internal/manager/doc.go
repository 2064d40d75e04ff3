// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager is `docket-controller run`. Every replica serves health and metrics, keeps the
// policies compiled and the data that they read, and answers admission requests if it is to. The
// leader also runs the scanner and the report writer, writes the status of entries, registers the
// webhook and takes what the replicas have found, until the process is told to end or the lease is
// lost. What requests and the leader need ends after them. Every goroutine that it starts has ended
// when [Manager.Run] returns.
package manager
