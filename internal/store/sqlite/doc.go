// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sqlite is the engine for one process and one file.
//
// One connection writes, a few read. A commit is one transaction that starts with the write lock, so revisions are
// given out in commit order. Reads take a connection, copy a page of rows into memory in one read transaction and give
// it back before anybody decodes anything: a slow caller never holds a snapshot, which would keep the write-ahead log
// from being reused.
//
// Beside the database PATH live
//
//	PATH-wal, PATH-shm  of SQLite
//	PATH.lock           an advisory lock; a second process is refused
//	PATH.restore        a backup for the next who opens the database, PATH.before-restore
//	                    what it took the place of
//	PATH.revision       the last revisions given out, so that a restored or
//	                    shortened database never gives out a number twice
//
// The package starts one goroutine for each open engine, the checkpointer,
// which copies the log into the database beside the writer. It ends in Close.
//
// Statements are constants with the index that they use above them; testdata/plans.golden proves it. Conditions of a
// list are planned here and not by SQLite, see plan in conditions.go.
package sqlite
