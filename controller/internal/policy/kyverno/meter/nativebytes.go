// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"reflect"
)

// Elements returns the number of elements of a list or an object.
func Elements(value any) int64 {
	reflected := reflect.ValueOf(value)
	switch reflected.Kind() {
	case reflect.Slice, reflect.Map:
		return int64(reflected.Len())
	default:
		return 0
	}
}

// NativeBytes returns what a value takes if nothing in it is shared. It stops once that is
// more than an evaluation may make.
func NativeBytes(value any) int64 {
	left := int64(maxEvaluationBytes)
	measureNative(value, &left)
	return maxEvaluationBytes - left
}

func measureNative(value any, left *int64) {
	*left -= ValueBytes
	switch typed := value.(type) {
	case string:
		*left -= int64(len(typed))
	case map[string]any:
		for key, item := range typed {
			if *left < 0 {
				return
			}
			*left -= EntryBytes + int64(len(key))
			measureNative(item, left)
		}
	case []any:
		for _, item := range typed {
			if *left < 0 {
				return
			}
			measureNative(item, left)
		}
	case []map[string]any:
		for _, item := range typed {
			if *left < 0 {
				return
			}
			measureNative(item, left)
		}
	default:
		*left -= Times(Elements(value), ValueBytes)
	}
}
