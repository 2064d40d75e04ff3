// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager is `docket-controller run`. Every replica serves health and metrics, keeps policies compiled and the
// data that they read in memory, and answers admission requests if that is enabled. A replica that holds shards also
// runs the scanner and the report writer for their namespaces and takes the results of all replicas about them, until
// the process ends, its shards change or a lease is lost. The one with the first shard writes the status of entries
// and registers the webhook, too. Sources that requests and the leader need end after them. All goroutines have ended
// when [Manager.Run] returns.
//
// Below it: telemetry sends traces and metrics to a collector. Imports: everything here. Begin at manager.go.
package manager
