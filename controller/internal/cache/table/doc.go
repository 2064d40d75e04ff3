// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table keeps the objects of one resource in memory and answers JMESPath expressions over
// them, and over single JSON documents.
//
// Objects are kept as JSON. An expression is taken apart: the parts of it that look at each object for
// itself are computed for each object once and again only for those that change ([Table.Search]
// mends what it knows when it is asked, nothing happens on a change); a filter for equality looks
// into an index; only the rest is evaluated over the whole. What can't be taken apart is evaluated
// over decoded objects, which are kept until [Table.Trim] finds them unused.
//
// Results are the same as the library gives for the data as JSON, with all numbers float64: it can
// compare no others. They are shared: nobody may change them.
//
// Readers work on snapshots and don't wait for writers, nor writers for readers. The package starts
// no goroutines. Two readers that need the same computation share it: one waits for the other, as
// long as its context lasts.
package table
