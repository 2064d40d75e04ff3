// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// AllNamespaces stands for all namespaces in a list of namespaces.
const AllNamespaces = "*"

// IgnoredException is an exception that names a policy and does not count.
type IgnoredException struct {
	// Exception is the reference for Events about it.
	Exception corev1.ObjectReference
	// Reason is one of [ExceptionReasons], for metrics; Message says what to do.
	Reason, Message string
}

// The reasons why exceptions don't count.
const (
	// ExceptionNamespace: its namespace is not among those whose exceptions count.
	ExceptionNamespace = "namespace"
	// ExceptionForeign: the policy is in another namespace.
	ExceptionForeign = "foreign_policy"
	// ExceptionReach: its match conditions read more than they are allowed to.
	ExceptionReach = "match_conditions"
	// ExceptionUnbounded: it calls a function whose result is not bounded.
	ExceptionUnbounded = "unbounded_function"
)

// ExceptionReasons returns all reasons.
func ExceptionReasons() []string {
	return []string{ExceptionNamespace, ExceptionForeign, ExceptionReach, ExceptionUnbounded}
}

// IgnoredExceptions returns the exceptions that name a policy and don't count.
func IgnoredExceptions(p Policy) []IgnoredException {
	if says, ok := p.(interface{ IgnoredExceptions() []IgnoredException }); ok {
		return says.IgnoredExceptions()
	}
	return nil
}

// ExpiryOf returns when an exception expires (spec.expiresAt); zero if it never does, or if the time can't be parsed.
func ExpiryOf(exception *unstructured.Unstructured) time.Time {
	text, _, err := unstructured.NestedString(exception.Object, "spec", "expiresAt")
	if err != nil || text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}
