// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authtrust tells extension API servers which aggregator they can trust: the
// ConfigMap that servers built on Kubernetes' library read at start and watch, so that
// they need no flags for it.
//
// There are no goroutines.
package authtrust
