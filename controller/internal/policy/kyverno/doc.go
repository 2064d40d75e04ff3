// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kyverno evaluates policies with Kyverno's own engines: ClusterPolicy and Policy
// (kyverno.io) with the classic engine, ValidatingPolicy and NamespacedValidatingPolicy
// (policies.kyverno.io) with the CEL engine, PolicyException of both groups. It is the only
// package that knows Kyverno's types.
//
// Results are those of Kyverno's background scan, except that:
//
//   - Rules that mutate, generate or verify images give no results.
//   - A policy that Kyverno's admission would refuse, or whose CEL does not compile, gives the
//     outcome error for all that it matches. User info, roles and long names are no reason.
//   - A context that needs what is not there (a cluster, a registry, a global context entry)
//     gives the outcome error; Kyverno leaves the variable out, which may end in a pass.
//   - A panic, and an evaluation that runs longer than [Config.Timeout], give the outcome error.
//   - The status of a policy is not read: a rule whose check Kyverno has handed to a generated
//     ValidatingAdmissionPolicy is evaluated here.
//   - The namespace of a resource has the name and labels of the subject and nothing else.
//
// # Goroutines
//
// Each evaluation runs in a goroutine that its Evaluate waits for. Go can't stop it: after a
// timeout it goes on, with a canceled context, until the engine returns, and reads the subject
// meanwhile. A policy that has left several behind gives errors at once until they end. Nothing
// else is started.
//
// # Process-wide state
//
// Kyverno keeps some state in variables of its packages, which all compilers share: the logger of
// controller-runtime (made silent by the first [NewCompiler], see there), the feature toggles that
// come from environment variables, the HTTP client of CEL policies, and the library context of
// CEL policies, which this package sets and resets under a lock while it compiles.
package kyverno
