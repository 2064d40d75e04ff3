// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"regexp"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

const (
	// longestNumber is how long a number gets that is written without an exponent.
	longestNumber = 400
	// longestPrecision is what the library makes of the precision of a verb at most.
	longestPrecision = 1 << 16
	// quotedPerByte is what a byte in a list or a map takes, which has texts in quotes and with escapes.
	quotedPerByte = 4
)

var precisions = regexp.MustCompile(`%\.(\d+)`)

// bytesOfFormatted counts the format, the digits that its verbs ask for, and each argument once, as no
// verb can have that of another.
func bytesOfFormatted(args []ref.Val) int64 {
	format, _ := args[0].(types.String)
	out := text(args[0])
	for _, match := range precisions.FindAllStringSubmatch(string(format), -1) {
		digits, err := strconv.ParseInt(match[1], 10, 64)
		if err != nil || digits > longestPrecision {
			digits = longestPrecision
		}
		out += Times(digits, WrittenPerByte)
	}
	left := int64(maxEvaluationBytes)
	measureFormatted(args[1], &left)
	return out + maxEvaluationBytes - left
}

// measureFormatted returns the length of a value as text. Each list and map writes those of its
// elements once more, hence a text counts as often as it is in others.
func measureFormatted(value ref.Val, left *int64) (length int64) {
	length = ValueBytes
	switch typed := value.(type) {
	case types.String:
		length += Times(int64(len(typed)), quotedPerByte)
	case types.Bytes:
		length += Times(int64(len(typed)), quotedPerByte)
	case types.Double:
		length += longestNumber
	case traits.Mapper:
		for it := typed.Iterator(); *left > 0 && it.HasNext() == types.True; {
			key := it.Next()
			length += measureFormatted(key, left) + measureFormatted(typed.Get(key), left)
		}
	case traits.Lister:
		for it := typed.Iterator(); *left > 0 && it.HasNext() == types.True; {
			length += measureFormatted(it.Next(), left)
		}
	}
	*left -= length
	return length
}
