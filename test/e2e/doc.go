// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the finished binaries as their users run them: `docket up` as a
// process of its own with a real kubectl, and `docket serve` behind a real control
// plane. Its helpers are in package harness.
//
// It is a module of its own, so that the dependencies of Kubernetes' programs stay out
// of Docket's. go.mod has a tool line for each program; replace lines give the
// libraries, which k8s.io/kubernetes names without a version, theirs.
package e2e
