// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel evaluates the policies of policies.kyverno.io with Kyverno's CEL engines: ValidatingPolicy,
// ImageValidatingPolicy, MutatingPolicy and their namespaced kinds, with PolicyExceptions of that group. It
// imports nothing of the classic engine, which later versions of Kyverno drop, except the type of results in
// github.com/kyverno/kyverno/pkg/engine/api.
package cel
