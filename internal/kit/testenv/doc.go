// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv gives tests the real things that they need: a PostgreSQL
// server, free ports, folders with short paths. Only test code imports it.
//
// [Postgres] is one server for the whole test process, with a fresh database
// for each test. [NewPostgres] is a server of a test's own, which that test may
// stop, kill and start again.
//
// The server binaries come from PATH or from the places where distributions put
// them. If there are none and the process is root on a machine with apt-get, they
// are installed, and a line on standard error says so. PostgreSQL refuses to run
// as root, so that root starts it as user postgres or nobody.
//
// Nothing outlives the test process: a small shell process per server waits for
// the end of a pipe that only the test process holds open. However the test process
// ends, kill -9 included, the server is then stopped and its folder removed.
//
// No goroutine is left running, so that tests may look for leaks of their own.
// Works on Unix systems only. A missing server is a failure, never a skipped test.
package testenv
