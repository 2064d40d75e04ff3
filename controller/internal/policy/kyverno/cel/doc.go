// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel evaluates the policies of policies.kyverno.io with Kyverno's CEL engines: ValidatingPolicy,
// ImageValidatingPolicy, MutatingPolicy and their namespaced kinds, with PolicyExceptions of that group. What of
// Kyverno it imports is none of the classic engine, which a later version has no more. The results of the engines are
// still in a package of it, github.com/kyverno/kyverno/pkg/engine/api.
package cel
