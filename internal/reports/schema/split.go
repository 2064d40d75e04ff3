// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// SplitHead returns the metadata of a report as JSON whose type and metadata come first, and what follows them. It
// looks at no more of the metadata than it has to for finding its end, and returns false for what has another form.
func SplitHead(report []byte) (metadata, members []byte, ok bool) {
	w := walker{data: report}
	for _, name := range []string{`{"apiVersion":`, `,"kind":`} {
		if !w.word(name) {
			return nil, nil, false
		}
		if value, _ := w.quoted(); value == nil {
			return nil, nil, false
		}
	}
	if !w.word(`,"metadata":`) || w.next() != '{' {
		return nil, nil, false
	}
	end := skip(report, w.at)
	if end < 0 {
		return nil, nil, false
	}
	return report[w.at:end], report[end:], true
}

// Split calls member for each member of a JSON object in the form of [Parts], until it
// returns false. Names come without quotes. It looks at no more of the values than it
// has to for finding their ends, and returns false for what is no such object, or has a
// name with escapes.
func Split(object []byte, member func(name, value []byte) bool) bool {
	if len(object) < 2 || object[0] != '{' {
		return false
	}
	for at := 1; at < len(object); at++ {
		if object[at] == '}' {
			return at == len(object)-1
		}
		if object[at] != '"' {
			return false
		}
		end := skipText(object, at)
		if end < 0 || end == len(object) || object[end] != ':' {
			return false
		}
		name := object[at+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			return false
		}
		at = end + 1
		if end = skip(object, at); end <= at || end == len(object) || !member(name, object[at:end]) {
			return false
		}
		if at = end; object[at] != ',' {
			return object[at] == '}' && at == len(object)-1
		}
	}
	return false
}

// items calls item for each item of a JSON array in the form of [Parts], until it returns
// false. It returns false for what is no such array, too.
func items(array []byte, item func(value []byte) bool) bool {
	if len(array) < 2 || array[0] != '[' {
		return false
	}
	if array[1] == ']' {
		return len(array) == 2
	}
	for at := 1; ; at++ {
		end := skip(array, at)
		if end <= at || end == len(array) || !item(array[at:end]) {
			return false
		}
		if at = end; array[at] != ',' {
			return array[at] == ']' && at == len(array)-1
		}
	}
}

// Count returns how many items a JSON array in the form of [Parts] has, -1 if it is none.
func Count(array []byte) int {
	count := 0
	if !items(array, func([]byte) bool { count++; return true }) {
		return -1
	}
	return count
}

// skip returns where the value that begins at at ends, -1 if it doesn't.
func skip(data []byte, at int) int {
	depth := 0
	for at < len(data) {
		switch data[at] {
		case '"':
			if at = skipText(data, at); at < 0 {
				return -1
			}
			if depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // The end of what the value is in.
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return -1
}

// skipText is skip for a string.
func skipText(data []byte, at int) int {
	for at++; at < len(data); at++ {
		next := bytes.IndexByte(data[at:], '"')
		if next < 0 {
			return -1
		}
		escape := bytes.IndexByte(data[at:at+next], '\\')
		if escape < 0 {
			return at + next + 1
		}
		at += escape + 1 // And what it escapes.
	}
	return -1
}

// ParseValue returns the Go value of JSON in the form of [Parts], as [Parse] does.
func ParseValue(value []byte) (any, error) {
	switch {
	case len(value) == 0:
	case value[0] == '"' && bytes.IndexByte(value, '\\') < 0:
		return string(value[1 : len(value)-1]), nil
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		if whole, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			return whole, nil
		}
	}
	return parseValue(jsontext.NewDecoder(bytes.NewBuffer(value)))
}
