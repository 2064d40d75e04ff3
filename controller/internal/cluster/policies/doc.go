// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policies keeps all policies of a cluster compiled. A process has one [Set], shared by everything
// that evaluates, so that each policy is compiled once.
//
// Policies and exceptions of all kinds that the API serves are watched, each kind by one reflector.
// A policy is compiled when it or any exception has changed, and when an exception expires. When a kind
// appears, nothing is compiled until it is listed: without all exceptions, results would be wrong. A kind
// that the API refuses, or that can't be listed for long, is not waited for, and is in [Snapshot.Missing].
// What is known of a kind stays until the API says otherwise.
//
// Goroutines, all owned by [Set.Run]: the planner, in the caller's goroutine, which alone compiles and
// decides what is watched; and one for each reflector.
package policies
