// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster has no code: the packages below it know what is in the cluster. served knows which kinds its API
// serves, source watches one of them and never gives up, policies keeps all policies compiled, shard shares namespaces
// among replicas, broadcast tells goroutines that something has changed.
//
// Imports: policy. Begin at source.
package cluster
