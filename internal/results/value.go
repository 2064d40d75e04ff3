// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what both engines show without an error.
const (
	// minSeconds is 0001-01-01T00:00:00Z, maxSeconds 9999-12-31T23:59:59Z: what an
	// RFC 3339 text can say.
	minSeconds = -62135596800
	maxSeconds = 253402300799
	// maxCount lets millions of rows be summed in 64 bits.
	maxCount = 1 << 40
)

const replacement = "\uFFFD"

// text returns s with what PostgreSQL can't hold replaced: NUL and invalid UTF-8.
func text(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, replacement)
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", replacement)
	}
	return s
}

// seconds returns a Unix time. For a time outside the years 1 to 9999 it returns 0, which means none.
func seconds(s int64) int64 {
	if s < minSeconds || s > maxSeconds {
		return 0
	}
	return s
}

func count(n int64) int64 {
	return min(max(n, -maxCount), maxCount)
}

// object returns a JSON object with sorted keys and no spaces, so that equal maps
// give equal texts; "" for an empty map. Of keys that become equal by text the
// last one in bytewise order counts: PostgreSQL's jsonb keeps the last as well, but
// SQLite finds the first.
func object(properties map[string]string) string {
	if len(properties) == 0 {
		return ""
	}
	keys := make([]string, 0, len(properties))
	for key := range properties {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if slices.ContainsFunc(keys, isChanged) {
		properties, keys = cleaned(properties, keys)
	}
	buffer := make([]byte, 0, 64)
	buffer = append(buffer, '{')
	for i, key := range keys {
		if i > 0 {
			buffer = append(buffer, ',')
		}
		buffer = appendQuoted(buffer, key)
		buffer = append(buffer, ':')
		buffer = appendQuoted(buffer, text(properties[key]))
	}
	return string(append(buffer, '}'))
}

func isChanged(s string) bool { return text(s) != s }

func cleaned(properties map[string]string, sorted []string) (map[string]string, []string) {
	clean := make(map[string]string, len(properties))
	keys := make([]string, 0, len(properties))
	for _, key := range sorted {
		name := text(key)
		if _, ok := clean[name]; !ok {
			keys = append(keys, name)
		}
		clean[name] = properties[key]
	}
	slices.Sort(keys)
	return clean, keys
}

// appendQuoted adds s as a JSON string. s is valid UTF-8, for which there is no error.
func appendQuoted(buffer []byte, s string) []byte {
	quoted, err := jsontext.AppendQuote(buffer, s)
	if err != nil {
		return append(buffer, `""`...)
	}
	return quoted
}
