// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress shows how far a long piece of work has come: one line that
// redraws itself on a terminal, a plain line now and then everywhere else.
//
// It starts no goroutine: the line is drawn by the calls of Add that come after the
// interval, so that an abandoned bar leaks nothing.
package progress
