// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// next skips space and returns the byte after it, 0 at the end.
func (w *walker) next() byte {
	for w.at < len(w.data) {
		switch c := w.data[w.at]; c {
		case ' ', '\n', '\t', '\r':
			w.at++
		default:
			return c
		}
	}
	return 0
}

// more moves behind a member or an item, to the next one. The end is the bracket at which it returns false.
func (w *walker) more(end byte) (more, ok bool) {
	switch w.next() {
	case ',':
		w.at++
		return true, w.next() != end
	case end:
		return false, true
	}
	return false, false
}

// quoted reads a string, whose quotes it returns too. It returns nil for none, and whether there are no escapes.
func (w *walker) quoted() (value []byte, plain bool) {
	if w.next() != '"' {
		return nil, false
	}
	start := w.at
	for at, plain := start+1, true; ; at += 2 { // An escape, and what it escapes.
		at = special(w.data, at)
		switch {
		case at >= len(w.data):
			return nil, false
		case w.data[at] == '"':
			w.at = at + 1
			return w.data[start:w.at], plain
		case w.data[at] != '\\':
			return nil, false
		}
		plain = false
	}
}

func (w *walker) word(word string) bool {
	if !bytes.HasPrefix(w.data[w.at:], []byte(word)) {
		return false
	}
	w.at += len(word)
	return true
}

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
