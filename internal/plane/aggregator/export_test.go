// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import "net/http"

// Leavable is leavable, for tests.
func Leavable(proxy http.Handler) http.Handler { return leavable(proxy) }
