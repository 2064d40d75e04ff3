// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/controller/internal/policy"
)

// maxUnknown bounds the fields that are named.
const maxUnknown = 20

// Strangers returns the fields of a value that a type does not have. It does not see into fields
// that read their JSON themselves.
func Strangers(path string, value map[string]any, into any) []string {
	var strict error
	if err := Protect(func() error {
		strict = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(value, into, true)
		return nil
	}); err != nil {
		return nil // It has what JSON has not, and is refused for that.
	}
	decoding, ok := runtime.AsStrictDecodingError(strict)
	if !ok {
		return nil
	}
	var paths []string
	for _, err := range decoding.Errors() {
		name, ok := strings.CutPrefix(err.Error(), `unknown field "`)
		if ok {
			paths = append(paths, path+"."+strings.TrimSuffix(name, `"`))
		}
	}
	return paths
}

// UnknownFieldsError words the paths of fields, which it sorts; nil if there are none.
func UnknownFieldsError(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	if len(paths) > maxUnknown {
		paths = append(paths[:maxUnknown], fmt.Sprintf("and %d more", len(paths)-maxUnknown))
	}
	return &policy.UnknownFieldsError{Paths: paths, Engine: EngineVersion()}
}
