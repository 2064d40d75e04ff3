// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformancetest proves that checks can fail: it starts proxies that break a good server and runs checks on
// them. A [Baseline] saves the runs that would repeat what happens on the good server. Only tests import it.
//
// Goroutines: those of a [Proxy], until it is closed.
package conformancetest
