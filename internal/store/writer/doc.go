// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writer gathers the changes of one process into batches: while one batch commits the next gathers, so that
// many writers share one durable commit and a lone writer waits for nobody. There is no timer.
//
// One goroutine, the caller of Run, commits. Changes of one key go to successive batches in the order of their arrival.
package writer
