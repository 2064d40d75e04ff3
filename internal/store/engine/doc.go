// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine is the contract between the store and a database: what is written, what is read back, and what an
// engine promises about it. It knows neither Kubernetes nor a SQL driver.
//
// An engine keeps the objects of one cluster: a current row for each key, and an event for each change. Every change
// has a Revision of its own; revisions of a cluster are one sequence without gaps that becomes visible in order: a
// reader that sees revision N sees everything up to N.
//
// A value is stored once. While an object is current its bytes are in the object row; when it is replaced or deleted
// they move into the event that replaced it (Event.Previous). The value that an event wrote is therefore the Previous
// of the next event of that key, or the current row. Old snapshots are read by undoing the events after the wanted
// revision.
//
// Engines import nothing else of Docket. They are tested by package enginetest, with an in-memory model as the oracle.
package engine
