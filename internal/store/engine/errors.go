// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "errors"

// Classes of errors that engines return. Engines add the operation that failed; callers use errors.Is.
var (
	// ErrCompacted: the revision is below what history still holds.
	ErrCompacted = errors.New("revision has been compacted")
	// ErrFuture: the revision was not given out yet.
	ErrFuture = errors.New("revision lies in the future")
	// ErrUnavailable: the database can't be reached or can't do work now; the same call may succeed later.
	ErrUnavailable = errors.New("database is unavailable")
	// ErrUnknownOutcome: the connection was lost while a commit was under way; it may or may not have happened.
	ErrUnknownOutcome = errors.New("outcome of the commit is unknown")
	// ErrFull: there is no space for the write.
	ErrFull = errors.New("database is full")
	// ErrReadOnly: the database can be read but not written.
	ErrReadOnly = errors.New("database is read-only")
	// ErrCorrupt: the database contradicts itself.
	ErrCorrupt = errors.New("database is corrupt")
	// ErrLocked: another process uses a database that only one may use.
	ErrLocked = errors.New("database is in use by another process")
	// ErrSchema: the database was written by a newer version of Docket.
	ErrSchema = errors.New("database schema is newer than this version understands")
	// ErrMissing: the database, or the cluster in it, doesn't exist and was not to be made.
	ErrMissing = errors.New("there is no such database")
	// ErrTooLarge: a value is larger than the engine can store.
	ErrTooLarge = errors.New("value is too large")
	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("engine is closed")
)
