// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	ellipsis = "…"
	// frame is an upper bound of the JSON of a result without its texts: field names, punctuation,
	// numbers, outcome and severity. Sizes are in bytes.
	frame = 288
	// reserve is kept free in a report in addition to its largest result: for names, labels and the
	// presentation of the policy, all of which are bounded, and for what servers add.
	reserve = 16 << 10
	// longText is the longest text of a presentation or reference.
	longText = 512
	// serverBytes is kept free in each report for what a server adds to its metadata.
	serverBytes = 1 << 10
)

// quoted returns the size of a valid text as encoded by encoding/json, with its quotes.
func quoted(text string) int {
	size := len(text) + 2
	for i := 0; i < len(text); i++ {
		size += escape(text, i)
	}
	return size
}

// escape returns the number of bytes that encoding/json adds to escape the byte at i.
func escape(text string, i int) int {
	switch b := text[i]; {
	case b == '"' || b == '\\' || b == '\n' || b == '\r' || b == '\t' || b == '\b' || b == '\f':
		return 1
	case b < 0x20 || b == '<' || b == '>' || b == '&':
		return 5
	case b == 0xe2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
		return 3
	default:
		return 0
	}
}

// fit makes a text valid UTF-8 and cuts it to at most limit bytes as quoted.
func fit(text string, limit int) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	if len(text)*6+2 <= limit || quoted(text) <= limit {
		return text
	}
	size := 2 + len(ellipsis)
	for i, r := range text {
		if size += utf8.RuneLen(r) + escape(text, i); size > limit {
			return text[:i] + ellipsis
		}
	}
	return text
}

// fitProperties returns properties as JSON of at most limit bytes; empty if there are none. Keys and values
// are cut evenly; if there are too many, the last ones are left out.
func fitProperties(properties map[string]string, limit int) string {
	if len(properties) == 0 {
		return ""
	}
	if data := encode(properties); len(data) <= limit && !strings.Contains(data, `\ufffd`) {
		return data
	}
	// Properties that fit come here, too, if they have invalid UTF-8, which JSON would change.
	each := max((limit-2)/len(properties), 128)
	bounded, size := make(map[string]string, len(properties)), 2
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		short := fit(shorten(key, each/4), each/2)
		value := fit(properties[key], each-quoted(short)-2)
		if size += quoted(short) + quoted(value) + 2; size > limit {
			break
		}
		bounded[short] = value
	}
	return encode(bounded)
}

// encode returns no error, since encoding/json accepts every map of strings.
func encode(properties map[string]string) string {
	data, err := json.Marshal(properties)
	if err != nil {
		return ""
	}
	return string(data)
}
