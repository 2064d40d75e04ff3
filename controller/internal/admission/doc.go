// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission answers the requests of the admission webhook: it evaluates the policies that apply to a
// request, allows or denies it, and passes results that only admission can find to the leader (package
// handoff). Every replica runs it. It does not deal with TLS or the webhook configuration.
//
// The cost of a request is bounded: its size, its time, the number of requests that are evaluated or wait, and
// the number of policies that are evaluated concurrently for one request. A request keeps its slot until
// everything that it started has ended, so that policies that never end can't accumulate.
//
// Goroutines: those of [Server.Run], which end with it: the sources of namespaces and role bindings, and the
// sender of results. Each request has at most [parallel] of its own; if a policy takes longer than its request
// may, the goroutine ends when that policy does.
//
// Below it: webhook serves HTTPS and registers itself, handoff passes results from replicas to the leader. Imports:
// policy, cluster, kit. Begin at server.go.
package admission
