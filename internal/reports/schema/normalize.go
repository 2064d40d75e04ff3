// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth of nested values that Normalize reads; the schemas are far less deep.
const maxDepth = 32

// Parts are the parts of a report as JSON.
type Parts struct {
	// APIVersion and Kind as the report states them, "" if it doesn't.
	APIVersion, Kind string
	// Metadata is the member of that name, nil if there is none. It is part of the
	// JSON that was read. It was checked to be JSON, and not any further.
	Metadata []byte
	// Body is everything else, as a JSON object in canonical form: members ordered by
	// their names, no space, no escapes that are not needed, integers in decimal. Two
	// bodies with the same content are the same bytes.
	Body []byte
	// Valid says that the object meets the schema. If it doesn't say so, the schema has a rule that Validate has to
	// decide about.
	Valid bool
}

// Normalize reads a report. It returns false if the library has to decide: because
// something is wrong, or of a form that only the library knows.
func (s *Schema) Normalize(data []byte) (Parts, bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	w := walker{decoder: d, out: make([]byte, 0, len(data))}
	var parts Parts
	if !w.root(s.root, &parts) {
		return Parts{}, false
	}
	parts.Body, parts.Valid = w.out, true
	return parts, true
}

// Stored says whether a body in the form of [Parts] is just what the library makes of it when it reads it from
// storage. It is false if only the library knows.
func (s *Schema) Stored(body []byte) bool {
	parts, ok := s.Normalize(body)
	return ok && bytes.Equal(parts.Body, body)
}

// walker copies JSON to out while it compares it with a schema. Its methods return
// false where the JSON is not what they can vouch for.
type walker struct {
	decoder *jsontext.Decoder
	out     []byte
	// segments of the objects that are being copied, innermost last.
	segments []segment
	scratch  []byte
	depth    int
}

// segment is where a member stands in out, from its name to its value.
type segment struct {
	start, name, end int
}

// root copies the body and takes the other members out.
func (w *walker) root(n *node, parts *Parts) bool {
	if token, err := w.decoder.ReadToken(); err != nil || token.Kind() != '{' || n.kind != object {
		return false
	}
	ok := w.members(n, func(name []byte) (bool, bool) {
		switch string(name) {
		case `"apiVersion"`:
			return true, w.word(&parts.APIVersion)
		case `"kind"`:
			return true, w.word(&parts.Kind)
		case `"metadata"`:
			value, err := w.decoder.ReadValue()
			parts.Metadata = value // It stays: the decoder reads from data itself.
			return true, err == nil && value.Kind() == '{'
		}
		return false, true
	})
	if !ok {
		return false
	}
	// Only space may follow.
	_, err := w.decoder.ReadToken()
	return errors.Is(err, io.EOF)
}

// word reads a string without escapes.
func (w *walker) word(into *string) bool {
	value, err := w.decoder.ReadValue()
	if err != nil || value.Kind() != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return false
	}
	*into = string(value[1 : len(value)-1])
	return true
}

// members copies an object whose brace was read. take may read a member itself.
func (w *walker) members(n *node, take func(name []byte) (taken, ok bool)) bool {
	first := len(w.segments)
	start := len(w.out)
	w.out = append(w.out, '{')
	required := 0
	for w.decoder.PeekKind() != '}' {
		name, err := w.decoder.ReadValue()
		if err != nil || name.Kind() != '"' || bytes.IndexByte(name, '\\') >= 0 {
			return false
		}
		if take != nil {
			taken, ok := take(name)
			if !ok {
				return false
			}
			if taken {
				continue
			}
		}
		child, needed := n.member(name)
		if child == nil {
			return false
		}
		// As the library does, what is null is left out: no schema here has nulls.
		if w.decoder.PeekKind() == 'n' {
			if child.kind == unknown || w.decoder.SkipValue() != nil {
				return false
			}
			continue
		}
		s := segment{start: len(w.out)}
		w.out = append(w.out, name...)
		s.name = len(w.out)
		w.out = append(w.out, ':')
		if !w.value(child) {
			return false
		}
		s.end = len(w.out)
		w.out = append(w.out, ',')
		w.segments = append(w.segments, s)
		if needed {
			required++
		}
	}
	if _, err := w.decoder.ReadToken(); err != nil || required != n.required {
		return false
	}
	w.order(start+1, w.segments[first:])
	if len(w.segments) > first {
		w.out = w.out[:len(w.out)-1] // The last comma.
	}
	w.segments = w.segments[:first]
	w.out = append(w.out, '}')
	return true
}

// order sorts the members of an object that stand in out from start to its end.
func (w *walker) order(start int, segments []segment) {
	byName := func(a, b segment) int { return compareNames(w.out[a.start:a.name], w.out[b.start:b.name]) }
	if slices.IsSortedFunc(segments, byName) {
		return
	}
	slices.SortFunc(segments, byName)
	w.scratch = w.scratch[:0]
	for _, s := range segments {
		w.scratch = append(w.scratch, w.out[s.start:s.end]...)
		w.scratch = append(w.scratch, ',')
	}
	copy(w.out[start:], w.scratch)
}

// compareNames compares names as JSON without escapes: as bytes, so that one that
// another begins with comes first.
func compareNames(a, b []byte) int {
	return bytes.Compare(a[1:len(a)-1], b[1:len(b)-1])
}

// member returns the schema of a member, and whether it is required; nil if there
// must be no such member.
func (n *node) member(quoted []byte) (*node, bool) {
	for i := range n.members {
		if m := &n.members[i]; bytes.Equal(m.quoted, quoted) {
			return m.node, m.required
		}
	}
	return n.others, false
}

// value copies the next value.
func (w *walker) value(n *node) bool {
	switch n.kind {
	case object, array:
		if w.depth++; w.depth > maxDepth {
			return false
		}
		defer func() { w.depth-- }()
		token, err := w.decoder.ReadToken()
		if err != nil {
			return false
		}
		if n.kind == object {
			return token.Kind() == '{' && w.members(n, nil)
		}
		return token.Kind() == '[' && w.array(n.items)
	case text, integer, boolean:
		value, err := w.decoder.ReadValue()
		return err == nil && w.scalar(n, value)
	case unknown:
	}
	return false
}

func (w *walker) array(items *node) bool {
	w.out = append(w.out, '[')
	for first := true; w.decoder.PeekKind() != ']'; first = false {
		if !first {
			w.out = append(w.out, ',')
		}
		if !w.value(items) {
			return false
		}
	}
	w.out = append(w.out, ']')
	_, err := w.decoder.ReadToken()
	return err == nil
}

func (w *walker) scalar(n *node, value jsontext.Value) bool {
	switch n.kind {
	case text:
		if value.Kind() != '"' {
			return false
		}
		start := len(w.out)
		if !w.text(value) {
			return false
		}
		return n.enum == nil || slices.ContainsFunc(n.enum, func(word []byte) bool { return bytes.Equal(word, w.out[start:]) })
	case integer:
		number, err := strconv.ParseInt(string(value), 10, n.bits)
		if value.Kind() != '0' || err != nil {
			return false
		}
		w.out = strconv.AppendInt(w.out, number, 10)
		return true
	case boolean:
		w.out = append(w.out, value...)
		return value.Kind() == 't' || value.Kind() == 'f'
	case unknown, object, array:
	}
	return false
}

// text copies a string, with none but the escapes that JSON demands.
func (w *walker) text(value jsontext.Value) bool {
	if bytes.IndexByte(value, '\\') < 0 {
		w.out = append(w.out, value...)
		return true
	}
	w.scratch = w.scratch[:0]
	var err error
	if w.scratch, err = jsontext.AppendUnquote(w.scratch, value); err != nil {
		return false
	}
	w.out, err = jsontext.AppendQuote(w.out, w.scratch)
	return err == nil
}
