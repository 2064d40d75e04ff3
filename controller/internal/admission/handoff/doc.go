// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handoff passes results of admission requests from the replicas to the leader: a [Sender] on every
// replica writes EphemeralReports, and the [Inbox] of the leader reads them, passes their results to the scanner,
// and deletes them once the results are in reports.
//
// An EphemeralReport is a hint: the request that it came from may have failed later. It may be read twice, and
// several may be about the same object: the latest request counts. Everything that is dropped is counted, and
// nothing grows without a bound.
//
// They don't carry Kyverno's label for the UID of a resource: its reports controller would take them for its own
// and delete them. Nor do they have an owner: for the garbage collector, an object that is just being created
// does not exist.
//
// An inbox may take those of Kyverno's admission and background controllers instead ([InboxConfig.Kyverno]), as
// Kyverno's reports controller does.
//
// Goroutines: a few writers owned by [Sender.Run]; two readers and a few that delete, owned by [Inbox.Run]. All
// have ended when these return.
package handoff
