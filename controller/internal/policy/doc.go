// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy says what a policy engine has to do for the controller: compile policies, and
// evaluate a resource into results. It has the words for that and no engine; the package
// kyverno below it has one. Nothing here or above it knows the types of an engine, so that an
// engine can be replaced.
package policy
