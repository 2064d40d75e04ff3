// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Referring returns the exceptions of a group with a reference, in the list at the path, that matches.
func Referring(
	all []*unstructured.Unstructured, group string, path []string, matches func(map[string]any) bool,
) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, exception := range all {
		if exception.GetKind() != policy.Exception || exception.GroupVersionKind().Group != group {
			continue
		}
		references, _, err := unstructured.NestedFieldNoCopy(exception.Object, path...)
		if err != nil {
			continue
		}
		list, _ := references.([]any)
		for _, item := range list {
			if reference, ok := item.(map[string]any); ok && matches(reference) {
				out = append(out, exception)
				break
			}
		}
	}
	return out
}
