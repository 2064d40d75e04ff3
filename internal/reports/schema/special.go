// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/binary"
	"math/bits"
)

// special returns where in a string of JSON the next byte is that is no plain character: a quote, a backslash or a
// control character. It looks at eight bytes at once.
func special(data []byte, at int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	for ; at+8 <= len(data); at += 8 {
		word := binary.LittleEndian.Uint64(data[at:])
		quote, escape := word^'"'*ones, word^'\\'*ones
		// The lowest bit of each of the three is right, which is enough for the lowest of all.
		found := ((quote-ones)&^quote | (escape-ones)&^escape | (word-' '*ones)&^word) & highs
		if found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for ; at < len(data); at++ {
		if c := data[at]; c == '"' || c == '\\' || c < ' ' {
			return at
		}
	}
	return at
}
