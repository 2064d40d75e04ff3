// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policies knows all policies of a cluster, compiled: one [Set] in a process, which every
// part that evaluates shares, so that each policy is compiled once.
//
// Policies and exceptions of all kinds that the API serves are watched, each kind by one reflector.
// A policy is compiled when it or any exception has changed, and when an exception expires. A kind
// that appears is waited for before anything is compiled again: without all exceptions, results
// would be wrong. One that the API refuses, or that can't be listed for long, is not waited for,
// and [Snapshot.Missing] tells of it. What is known of a kind stays until the API says something
// else.
//
// Goroutines, all owned by [Set.Run]: the planner, in the caller's, which alone decides what is
// watched and compiles; and one for each reflector.
package policies
