// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package collection runs the test files of a collection of policies (kyverno-test.yaml, of the
// API cli.kyverno.io/v1alpha1) against a [policy.Compiler], and says where it agrees.
//
// A test file names policies, resources, and which result each rule gives for which resource. A result that is expected
// and does not come is missing, which is a failure; there is a list of those that are allowed, each with its reason.
// Tests that need what a compiler without a cluster does not have, or that are about other things than validation, are
// left out, each with its reason as well.
//
// [Run] starts a bounded number of workers and ends them all before it returns.
package collection
