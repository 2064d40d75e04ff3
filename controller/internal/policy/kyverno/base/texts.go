// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// GlobalContext is the variable by which CEL expressions read the context cache.
const GlobalContext = "globalContext"

// EachText visits all texts in a JSON value, but no names of fields.
func EachText(value any, visit func(string)) {
	switch typed := value.(type) {
	case string:
		visit(typed)
	case []any:
		for _, item := range typed {
			EachText(item, visit)
		}
	case map[string]any:
		for _, item := range typed {
			EachText(item, visit)
		}
	}
}

// Mentions reports whether the word occurs in the specs of the objects. CEL has no way to make a
// name of parts, so that a policy without the word does not use the variable.
func Mentions(word string, objects []*unstructured.Unstructured) bool {
	for _, object := range objects {
		data, err := json.Marshal(object.Object["spec"])
		if err != nil || bytes.Contains(data, []byte(word)) {
			return true
		}
	}
	return false
}
