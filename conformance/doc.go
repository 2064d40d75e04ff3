// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance runs the checks of `docket conformance` from Go tests: black-box checks of the
// conventions of Kubernetes APIs, against any server. docs/reference/conformance-checks.md lists them.
//
//	func TestConventions(t *testing.T) {
//		conformance.Run(t, conformance.Options{Config: config, GroupVersion: "example.com/v1"})
//	}
//
// The API is [Run] and [Options]; the packages below this one may change with any release. All of them belong to
// Docket's root module, because the command docket runs the same checks.
package conformance
