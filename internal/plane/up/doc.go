// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package up is `docket up`: a control plane for one person on one machine,
// without a cluster (package controlplane), with all of its state in one folder
// (package statedir).
//
// The holder of the token may do everything; all others may read health and version,
// and nothing else.
//
// Goroutines: Run starts the server, the console, and one that waits until the server is
// ready, prints what to do next and loads the demo. All end with Run's context, and with
// the server.
package up
