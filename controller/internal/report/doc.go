// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report turns results into reports. It has two halves.
//
// [Layout] is in memory and does no I/O. It knows every current result and the report that it is in, and
// keeps it there: reports are bounded in results and bytes, and one changed result changes one report. It
// has no goroutines and is safe for concurrent use.
//
// [Writer] keeps the reports of a server like those of a layout, with as few writes as possible, and undoes
// what others change. It has three objects: the plan takes changes of the layout and knows what is to be written
// next, the sender writes it, and existing tells the plan what the server has, and what others have changed.
// Its goroutines are those of [Writer.Run], which ends them all before it returns, and short-lived ones of
// [Writer.Flush], which waits for them, too.
//
// The content of a report with our label is entirely ours. Labels, annotations, owner references and
// finalizers that others have added are kept by all updates, and cause none; labels and annotations of ours
// that are no longer needed are removed. When a report is deleted, because it is empty or of another layout,
// what others have added goes with it.
//
// The policy of a report is in its labels and annotations. Names are for people; no code reads them.
//
// Imports: policy, cluster. Begin at layout.go, and at plan.go, the life of some reports as a table.
package report
