// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard shares the namespaces of a cluster among replicas. Each namespace belongs to one of a fixed number of
// shards; a replica works for the shards whose Leases it holds, and what is cluster-scoped belongs to the first
// shard.
//
// A replica without enough shards takes those that are free, and asks a replica that has two more than itself for one
// of its own. It never takes one that is held: only the holder gives it back, after its work for it has ended, or the
// Lease expires. Replicas that have shards already leave free ones to others for a while.
//
// Goroutines: those of [Run], which have ended when it returns.
package shard
