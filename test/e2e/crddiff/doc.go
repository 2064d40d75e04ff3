// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crddiff sends the same random requests to two API servers that serve the same kinds,
// one as custom resources, the other in a way of its own, and tells where their answers differ.
//
// What is sent is made from the schemas of CustomResourceDefinitions that are read at run time.
// A [Case] is a few requests about one object; the same seed makes the same case. What differs by
// nature, such as UIDs and times, is made equal before answers are compared. A [Rereader] compares the answers of one
// server with each other.
//
// Goroutines: those of [Runner.Run] and of a [Sequence]'s watches, which have ended when they return.
package crddiff
