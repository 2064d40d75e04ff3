// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// globalContext is the variable by which CEL expressions read the context cache.
const globalContext = "globalContext"

func eachText(value any, visit func(string)) {
	switch typed := value.(type) {
	case string:
		visit(typed)
	case []any:
		for _, item := range typed {
			eachText(item, visit)
		}
	case map[string]any:
		for _, item := range typed {
			eachText(item, visit)
		}
	}
}

// mentions reports whether the word occurs in the specs of the objects. CEL has no way to make a
// name of parts, so that a policy without the word does not use the variable.
func mentions(word string, objects []*unstructured.Unstructured) bool {
	for _, object := range objects {
		data, err := json.Marshal(object.Object["spec"])
		if err != nil || bytes.Contains(data, []byte(word)) {
			return true
		}
	}
	return false
}
