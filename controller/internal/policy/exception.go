// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ExpiryOf returns when an exception ends, which is spec.expiresAt. It is zero for one that has no
// end, and for one whose end can't be read.
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
