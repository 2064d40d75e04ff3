// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the finished binaries as their users run them: `docket up` as a
// process of its own with a real kubectl, and `docket serve` behind a real control
// plane. Its helpers are in package harness.
//
// It is a module of its own, so that the dependencies of other people's programs stay out of Docket's. Programs that
// share no libraries with it have module files of their own: go.kubernetes-*.mod for each version of Kubernetes, whose
// replace lines give k8s.io/kubernetes the libraries that it names without a version.
package e2e
