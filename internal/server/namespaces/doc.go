// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package namespaces empties namespaces: what is in a namespace that is being deleted is
// deleted, in every group that the server knows, and then the namespace itself is. A
// namespace that can't be deleted says why in its conditions, with the reasons that
// Kubernetes' own controller gives.
//
// [Controller] does that for a whole server. [Sweep] deletes what somebody else's controller has
// left in one namespace; [Sweeper] calls it for each namespace that a cluster deletes.
// [EnsureSystem] makes the namespaces that are always there.
//
// Goroutines: Controller.Run owns an informer of namespaces and a few workers, Sweeper.Run
// one worker. Both return when all of them have ended, and end with their context.
package namespaces
