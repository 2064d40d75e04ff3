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
	// frame bounds all of a result's JSON that is not text: field names, punctuation,
	// numbers, outcome and severity.
	frame = 288
	// reserve is kept free in a report beside its largest result: for names, labels and the
	// presentation of the policy, all of which are bounded, and what servers add.
	reserve = 16 << 10
	// longText bounds texts of the presentation and references.
	longText = 512
	// serverBytes is kept free in each report for what a server adds to its metadata.
	serverBytes = 1 << 10
)

// quoted is the number of bytes that encoding/json makes of a valid text, quotes included.
func quoted(text string) int {
	size := len(text) + 2
	for i := 0; i < len(text); i++ {
		size += escape(text, i)
	}
	return size
}

// escape is by how much the byte at i grows when it is quoted.
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

// fit makes text valid and cuts it so that it quotes to at most limit bytes.
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

// fitProperties returns properties as JSON of at most limit bytes, or nothing if there are
// none. Keys and values are cut evenly; should there be too many, the last ones are missing.
func fitProperties(properties map[string]string, limit int) string {
	if len(properties) == 0 {
		return ""
	}
	if data := encode(properties); len(data) <= limit && !strings.Contains(data, `\ufffd`) {
		return data
	}
	// What fits is not cut, but has invalid text, which does not survive JSON.
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

// encode has no error to return: encoding/json takes every map of texts.
func encode(properties map[string]string) string {
	data, err := json.Marshal(properties)
	if err != nil {
		return ""
	}
	return string(data)
}
