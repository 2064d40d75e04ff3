// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert turns Kyverno's older policies into its CEL policies: a ClusterPolicy or Policy (kyverno.io) into
// ValidatingPolicies or NamespacedValidatingPolicies (policies.kyverno.io), and a PolicyException of the one API
// group into one of the other.
//
// [Policy] converts rule by rule, and each rule becomes a policy of its own: then the new policy has a result where
// the rule has one, and none where the rule is skipped. What can't be said in CEL with the same meaning is an
// [*Error] that names the field and the remedy; the rule is then left out as a whole. Where the types of a resource
// are not those that the rule was written for, the new policy gives an error and never another verdict.
//
// [Prove] evaluates both for the same resources and lists what differs.
//
// It starts no goroutine.
package convert
