// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handoff takes what policies said at admission from the replicas to the leader: a [Sender] on
// every replica writes EphemeralReports, and the [Inbox] of the leader reads them, gives what they
// say to the scanner, and deletes them once it is in the reports.
//
// An EphemeralReport is a hint: the request that it came from may have failed later. It
// may be read twice, and two may say the same: the time of the request tells which one counts.
// Nothing here is lost without a count, and nothing grows without a bound.
//
// They don't carry Kyverno's label for the UID of a resource, by which its reports controller would
// take them for its own and delete them. Nor do they have an owner: an object that is just being
// created does not exist for the garbage collector.
//
// Goroutines: a few writers owned by [Sender.Run]; two readers, and one that deletes with a
// few helpers, owned by [Inbox.Run]. All end with it.
package handoff
