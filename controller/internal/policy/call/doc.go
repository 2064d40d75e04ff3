// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package call asks services for JSON, with a guard against addresses that policies have no business to reach.
//
// It has no goroutines but those of net/http, which end with the request or a minute after it.
package call
