// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy defines what a policy engine does for the controller: compile policies, and evaluate resources
// into results. It has no engine; package kyverno below it has one. Nothing here or in its importers knows the
// types of an engine, so that an engine can be replaced.
//
// Below it: kyverno has Kyverno's engines, admissionpolicy Kubernetes' own policies; bounds, reach, registry and call
// are the one way by which an evaluation reads anything from outside. Imports: api. Begin at policy.go; docs/adr/0015
// says why an engine is behind an interface.
package policy
