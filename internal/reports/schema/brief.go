// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// SplitHead returns the metadata of a report as JSON whose type and metadata come first, and what follows them. It
// looks at no more of the metadata than it has to for finding its end, and returns false for what has another form.
func SplitHead(report []byte) (metadata, members []byte, ok bool) {
	s := scanner{data: report}
	at := 0
	for _, name := range []string{`{"apiVersion":`, `,"kind":`} {
		if at = s.word(at, name); at < 0 {
			return nil, nil, false
		}
		if at = s.text(at); at < 0 {
			return nil, nil, false
		}
	}
	if at = s.word(at, `,"metadata":`); at < 0 || s.byte(at) != '{' {
		return nil, nil, false
	}
	end := skip(report, at)
	if end < 0 {
		return nil, nil, false
	}
	return report[at:end], report[end:], true
}

// WithoutResults returns a body without its results, wherever its kind has them. The members are in the form
// of [Parts] and follow the metadata in a report: a comma, if there is anything, the members, and the brace.
//
// It reads each byte once. It returns false for a body that is not in that form, and for results that the types of
// kinds may not be able to hold, because they are no list of objects, or name a source that is no text.
func WithoutResults(members []byte) ([]byte, bool) {
	if string(members) == "}" {
		return []byte("{}"), true
	}
	if len(members) == 0 || members[0] != ',' || !utf8.Valid(members) {
		return nil, false
	}
	s := scanner{data: members}
	if end := s.members(1, 0, s.bodyMember); end != len(members) {
		return nil, false
	}
	brief := slices.Concat([]byte("{"), members[1:max(s.from, 1)], members[max(s.to, 1):])
	return brief, true
}

// scanner finds the ends of values in JSON. Its methods take where something begins and return where it ends, -1 if
// it isn't in canonical form: members in order, so that no name occurs twice, no space, whole numbers.
type scanner struct {
	data []byte
	// anyNumber allows numbers that are not whole, and nulls.
	anyNumber bool
	// from and to are where the results are, with a comma if there is one; 0 if there are none.
	from, to int
}

// memberFunc is given the name of a member, without quotes, and where its value begins.
type memberFunc func(name []byte, at, depth int) int

// byte returns what is at a place, 0 after the end.
func (s *scanner) byte(at int) byte {
	if at < len(s.data) {
		return s.data[at]
	}
	return 0
}

// members scans an object from its first member on.
func (s *scanner) members(at, depth int, value memberFunc) int {
	var before []byte
	for first := true; ; first = false {
		end := s.text(at)
		if end < 0 || s.byte(end) != ':' {
			return -1
		}
		name := s.data[at+1 : end-1]
		if !first && bytes.Compare(before, name) >= 0 || bytes.IndexByte(name, '\\') >= 0 {
			return -1
		}
		before = name
		if end = value(name, end+1, depth); end < 0 {
			return -1
		}
		at = end + 1
		switch s.byte(end) {
		case ',':
		case '}':
			return at
		default:
			return -1
		}
	}
}

// bodyMember scans a member of a body, or of its specification.
func (s *scanner) bodyMember(name []byte, at, depth int) int {
	switch {
	case string(name) == "results" && s.to == 0:
		return s.results(at)
	case string(name) == "spec" && depth == 0 && s.byte(at) == '{' && s.byte(at+1) != '}':
		return s.members(at+1, depth+1, s.bodyMember)
	}
	return s.value(at, depth)
}

// results scans the results, which WithoutResults leaves out.
func (s *scanner) results(at int) int {
	end := s.items(at, 0, func(at, depth int) int {
		switch {
		case s.byte(at) != '{':
			return -1
		case s.byte(at+1) == '}':
			return at + 2
		}
		return s.members(at+1, depth, s.resultMember)
	})
	if end < 0 {
		return -1
	}
	s.from, s.to = at-len(`"results":`), end
	switch {
	case s.byte(end) == ',':
		s.to++
	case s.from > 1 && s.byte(s.from-1) == ',':
		s.from--
	}
	return end
}

func (s *scanner) resultMember(name []byte, at, depth int) int {
	if string(name) == "source" && s.byte(at) != '"' {
		return -1
	}
	return s.value(at, depth)
}

func (s *scanner) otherMember(_ []byte, at, depth int) int { return s.value(at, depth) }

// items scans an array.
func (s *scanner) items(at, depth int, item func(at, depth int) int) int {
	if s.byte(at) != '[' {
		return -1
	}
	if s.byte(at+1) == ']' {
		return at + 2
	}
	for {
		end := item(at+1, depth)
		if end < 0 {
			return -1
		}
		switch at = end; s.byte(at) {
		case ',':
		case ']':
			return at + 1
		default:
			return -1
		}
	}
}

func (s *scanner) value(at, depth int) int {
	switch c := s.byte(at); c {
	case '"':
		return s.text(at)
	case '{', '[':
		if depth++; depth > maxDepth {
			return -1
		}
		if c == '[' {
			return s.items(at, depth, s.value)
		}
		if s.byte(at+1) == '}' {
			return at + 2
		}
		return s.members(at+1, depth, s.otherMember)
	case 't':
		return s.word(at, "true")
	case 'f':
		return s.word(at, "false")
	case 'n':
		if s.anyNumber {
			return s.word(at, "null")
		}
	}
	if s.anyNumber {
		end, _ := numberEnd(s.data, at)
		return end
	}
	return s.number(at)
}

func (s *scanner) word(at int, word string) int {
	if bytes.HasPrefix(s.data[at:], []byte(word)) {
		return at + len(word)
	}
	return -1
}

func (s *scanner) number(at int) int {
	if s.byte(at) == '-' {
		at++
	}
	if s.byte(at) == '0' {
		return at + 1
	}
	start := at
	for c := s.byte(at); c >= '0' && c <= '9'; c = s.byte(at) {
		at++
	}
	if at == start {
		return -1
	}
	return at
}

// text scans a string. Of escapes of four digits it knows those of control characters: others are not needed.
func (s *scanner) text(at int) int {
	if s.byte(at) != '"' {
		return -1
	}
	for at++; ; at++ {
		if at = special(s.data, at); s.byte(at) != '\\' {
			break
		}
		if at++; s.byte(at) != 'u' {
			if strings.IndexByte(`"\/bfnrt`, s.byte(at)) < 0 {
				return -1
			}
			continue
		}
		if s.word(at, "u00") < 0 || !isHex(s.byte(at+3)) || !isHex(s.byte(at+4)) {
			return -1
		}
		at += 4
	}
	if s.byte(at) != '"' {
		return -1
	}
	return at + 1
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
