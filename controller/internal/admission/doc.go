// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission answers the requests of the admission webhook: it evaluates the policies that want a
// request, allows or denies it, and gives results that only admission can find to the leader (package
// handoff). Every replica runs it. It knows no TLS and no webhook configuration.
//
// What a request may cost is bounded: its size, its time, the number of requests under
// evaluation and in wait, and the policies that are evaluated at a time for one request. A request has
// its place until all that it started has ended, so that policies that never end can't pile up.
//
// Goroutines: those of [Server.Run], which end with it: the sources of namespaces and role bindings, and
// the sender of results. Each request has at most [parallel] of its own; one that a policy holds up
// beyond the time of its request ends with that policy.
package admission
