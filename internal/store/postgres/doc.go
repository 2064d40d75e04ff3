// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgres is the engine that keeps a cluster in a PostgreSQL database,
// version 15 or newer, which several processes may share.
//
// A commit is one round trip: it locks the cluster's counter row, and then one statement decides which ops apply,
// numbers them and writes them with all rows that follow from them. No op can make that statement raise an error, so
// that neighbours don't suffer. Reads return rows and state from one statement, hence from one snapshot.
//
// Open starts one goroutine, which holds a session that listens for commits of
// other processes; pgx's pools have their own. Close ends all of them.
//
// What operators should know is in README.md.
package postgres
