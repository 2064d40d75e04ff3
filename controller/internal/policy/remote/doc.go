// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remote runs a policy engine as a process of its own: [Engine] is the side of the controller, a
// [policy.Compiler] that starts the process and starts it once more when it ends, [Serve] is the side of the
// process, which hosts any [policy.Compiler]. docs/adr/0048-engines-apart.md says why.
//
// The two talk by net/rpc over the standard input and output of the process, which ends with its parent. First
// the process prints a line with the version of the protocol. All calls are made by the controller; what the
// engine asks for, queries of the context cache, it hands out as the answer of a call that waits for it.
//
// While the process is away nothing is known: evaluations fail with a [policy.AwayError], and whoever keeps
// results keeps them. What was under evaluation when the process ended is evaluated alone the next time, with
// nothing beside it; what ends the process even then gets an error as its result, and is not evaluated any more.
package remote
