// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"strconv"
)

// number copies a number.
func (w *walker) number(n *node) bool {
	start := w.at
	end, whole := numberEnd(w.data, start)
	if end < 0 {
		return false
	}
	w.at = end
	text := w.data[start:end]
	if whole {
		value, ok := parseInt(text)
		if !ok {
			return false
		}
		before := len(w.out)
		w.out = strconv.AppendInt(w.out, value, 10)
		w.judge(&n.rules, value >= n.low && value <= n.high && n.lists(w.out[before:]))
		return true
	}
	if n.kind != number && n.kind != anything {
		return false
	}
	w.judge(&n.rules, n.low == lowest && n.high == highest && n.enum == nil)
	if isShort(text) {
		w.out = append(w.out, text...)
		return true
	}
	// What the library takes for a number with a fraction must not look like a whole one when it is read again.
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return false
	}
	before := len(w.out)
	w.out, err = appendCanonical(w.out, value)
	return err == nil && bytes.ContainsAny(w.out[before:], ".e")
}

// isShort says whether a number that isn't whole is in canonical form for sure: no two numbers of 15 digits are the
// same float, so that there is no shorter form of it.
func isShort(text []byte) bool {
	const digits = 15
	text = bytes.TrimPrefix(text, []byte("-"))
	return len(text) <= digits+len(".") && text[len(text)-1] != '0' && !bytes.ContainsAny(text, "eE") && !bytes.HasPrefix(text, []byte("0.0000"))
}

// parseInt is strconv.ParseInt for the text of a whole number in JSON.
func parseInt(text []byte) (int64, bool) {
	const safe = 18 // So many digits fit.
	if len(text) > safe {
		value, err := strconv.ParseInt(string(text), 10, 64)
		return value, err == nil
	}
	value := int64(0)
	for _, c := range bytes.TrimPrefix(text, []byte("-")) {
		value = 10*value + int64(c-'0')
	}
	if text[0] == '-' {
		value = -value
	}
	return value, true
}

// numberEnd returns where a number in JSON ends, -1 if there is none, and whether it has neither fraction nor exponent.
func numberEnd(data []byte, at int) (end int, whole bool) {
	if at < len(data) && data[at] == '-' {
		at++
	}
	start := at
	at = digits(data, at)
	if at == start || data[start] == '0' && at > start+1 {
		return -1, false
	}
	whole = true
	if at < len(data) && data[at] == '.' {
		whole = false
		start = at + 1
		if at = digits(data, start); at == start {
			return -1, false
		}
	}
	if at < len(data) && data[at]|0x20 == 'e' {
		whole = false
		if at++; at < len(data) && (data[at] == '+' || data[at] == '-') {
			at++
		}
		start = at
		if at = digits(data, start); at == start {
			return -1, false
		}
	}
	return at, whole
}

func digits(data []byte, at int) int {
	for at < len(data) && data[at] >= '0' && data[at] <= '9' {
		at++
	}
	return at
}
