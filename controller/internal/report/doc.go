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
// A report with our label is ours entirely: an update drops labels and annotations that others
// have added, although those alone cause no update.
//
// The policy of a report is in its labels and annotations. Names are for people; nothing
// reads them.
package report
