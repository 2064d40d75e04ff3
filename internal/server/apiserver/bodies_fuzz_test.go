// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"math"
	"testing"
)

// FuzzValueCounts: what is counted while a body is read is no less than what a decoder makes of it, however the
// body is cut into parts.
func FuzzValueCounts(f *testing.F) {
	for _, seed := range []string{`{}`, `[1,2,[3]]`, `{"results":[{"a":"[,\",]"},{}],"b":null}`, `"\\"`, `[[[[[[[[[[[[[[[[[[1,2]]]]]]]]]]]]]]]]]]`, "a: [1, 2]\n- - b"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		whole := valueCounts{maxValues: math.MaxInt64, maxItems: math.MaxInt64}
		parts := whole
		whole.add(body)
		cut = max(0, min(cut, len(body)))
		parts.add(body[:cut])
		parts.add(body[cut:])
		if whole != parts {
			t.Fatalf("%q in one part: %+v, in two: %+v", body, whole, parts)
		}
		var value any
		if json.Unmarshal(body, &value) != nil {
			return
		}
		if made := valuesIn(value); made > whole.values+1 {
			t.Errorf("%q has %d values, %d were counted", body, made, whole.values)
		}
	})
}

// valuesIn counts a value and all in it.
func valuesIn(value any) int64 {
	count := int64(1)
	switch typed := value.(type) {
	case []any:
		for _, item := range typed {
			count += valuesIn(item)
		}
	case map[string]any:
		for _, item := range typed {
			count += valuesIn(item)
		}
	}
	return count
}
