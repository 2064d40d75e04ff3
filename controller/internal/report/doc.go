// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes reports of results. It has two halves.
//
// [Layout] is pure and in memory. It knows every current result and the report that each is
// in, and keeps them there: reports are bounded in results and bytes, and one changed result
// changes one report. It has no goroutines and is safe for concurrent use.
//
// [Writer] makes a server have what a layout says, with as few writes as possible, and
// repairs what others change. Its goroutines are those of [Writer.Run], which ends them all
// before it returns, and short-lived ones of [Writer.Flush], which likewise waits for them.
//
// What a report with our label says is ours entirely. Labels, annotations, owner references and
// finalizers that others have added stay through all updates, and cause none; a key of ours
// that is not wanted any more goes. A report that is deleted, because it is empty or of another
// layout, takes them with it.
//
// The policy of a report is in its labels and annotations. Names are for people; nothing
// reads them.
package report
