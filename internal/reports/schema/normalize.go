// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth of nested values that this package reads by itself. The library has no such limit.
const maxDepth = 100

// Parts are the parts of an object as JSON.
type Parts struct {
	// APIVersion and Kind as the object states them, "" if it doesn't.
	APIVersion, Kind string
	// Metadata is the member of that name, nil if there is none. It is part of the
	// JSON that was read. It was checked to be JSON, and not any further.
	Metadata []byte
	// Body is everything else, as a JSON object in canonical form: members ordered by
	// their names, no space, no escapes that are not needed, integers in decimal. Two
	// bodies with the same content are the same bytes.
	Body []byte
	// Valid says that the object meets the schema, whatever its metadata are. If it doesn't say so, Validate has to
	// decide: something is wrong, or a rule of the schema is for the library.
	Valid bool
}

// Normalize reads an object. It returns false if the library has to decide what is stored of it: because something is
// to be left out, or of a form that only the library knows.
func (s *Schema) Normalize(data []byte) (Parts, bool) {
	w, parts := newWalker(data), Parts{}
	defer walkers.Put(w)
	w.out = make([]byte, 0, len(data))
	ok := w.root(s.root, &parts)
	parts.Body, parts.Valid = w.out, !w.further
	w.data, w.out = nil, nil
	if !ok {
		return Parts{}, false
	}
	return parts, true
}

// Stored says whether a body in the form of [Parts] is just what the library makes of it when it reads it from
// storage. It is false if only the library knows.
func (s *Schema) Stored(body []byte) bool {
	w := newWalker(body)
	defer walkers.Put(w)
	same := w.root(s.root, &Parts{}) && bytes.Equal(w.out, body)
	w.data = nil
	return same
}

// walkers are there to use their memory again.
var walkers sync.Pool

func newWalker(data []byte) *walker {
	w, ok := walkers.Get().(*walker)
	if !ok {
		w = &walker{}
	}
	*w = walker{data: data, out: w.out[:0], segments: w.segments[:0], scratch: w.scratch[:0]}
	return w
}

// walker copies JSON to out while it compares it with a schema. Its methods return
// false where the JSON is not what they can vouch for.
type walker struct {
	data []byte
	// at is what of data was read.
	at  int
	out []byte
	// segments of the objects that are being copied, innermost last.
	segments []segment
	scratch  []byte
	depth    int
	// further says that there was a value with a rule that is broken, or only the library's to judge.
	further bool
}

// segment is where a member stands in out, from its name to its value. A null that was left out ends with its name.
type segment struct {
	start, name, end int
	// rank of the member.
	rank int
}

// root copies the body and takes the other members out.
func (w *walker) root(n *node, parts *Parts) bool {
	// Below, strings are not looked at in this regard.
	if n.kind != object || !utf8.Valid(w.data) || w.next() != '{' || !w.members(n, parts) {
		return false
	}
	return w.next() == 0 && w.at == len(w.data) // Only space may follow.
}

// reserved reads a member of the root that is not part of the body. It returns false, false for what is part of it.
func (w *walker) reserved(name []byte, parts *Parts) (taken, ok bool) {
	switch string(name) {
	case `"apiVersion"`:
		return true, w.statedType(&parts.APIVersion)
	case `"kind"`:
		return true, w.statedType(&parts.Kind)
	case `"metadata"`:
		end := skip(w.data, w.at)
		if parts.Metadata != nil || end < 0 || w.next() != '{' {
			return true, false
		}
		parts.Metadata = w.data[w.at:end]
		w.at = end
		return true, jsontext.Value(parts.Metadata).IsValid()
	}
	return false, true
}

func (w *walker) statedType(into *string) bool {
	value, plain := w.quoted()
	if !plain || len(value) == len(`""`) || *into != "" {
		return false
	}
	*into = string(value[1 : len(value)-1])
	return true
}

// members copies an object. With parts it is the root.
func (w *walker) members(n *node, parts *Parts) bool {
	first, start := len(w.segments), len(w.out)
	w.out = append(w.out, '{')
	w.at++
	required := 0
	for more, ok := w.next() != '}', true; more; more, ok = w.more('}') {
		name, plain := w.quoted()
		if !ok || !plain || w.next() != ':' {
			return false
		}
		w.at++
		w.next()
		if parts != nil {
			taken, ok := w.reserved(name, parts)
			if !ok {
				return false
			}
			if taken {
				continue
			}
		}
		m := n.member(name)
		if m == nil || !w.member(m, name) {
			return false
		}
		if last := w.segments[len(w.segments)-1]; m.required && last.end > last.name {
			required++
		}
	}
	if w.next() != '}' {
		return false
	}
	w.at++
	required += w.fill(n, first)
	count, ok := w.order(start+1, first)
	w.judge(&n.rules, required == n.required && n.size.holds(count))
	w.out = append(w.out, '}')
	return ok
}

// member copies a member whose name was read.
func (w *walker) member(m *member, name []byte) bool {
	s := segment{start: len(w.out), rank: m.rank}
	w.out = append(w.out, name...)
	s.name = len(w.out)
	w.out = append(w.out, ':')
	if w.next() != 'n' {
		if !w.value(m.node) {
			return false
		}
	} else if !w.word("null") || !w.null(m.node) {
		return false
	}
	s.end = len(w.out)
	if s.end == s.name+1 {
		s.end = s.name // As the library does, it leaves out the null.
		w.out = w.out[:s.end]
	}
	w.out = append(w.out, ',')
	w.segments = append(w.segments, s)
	return true
}

// null copies what a null becomes, which may be nothing.
func (w *walker) null(n *node) bool {
	switch {
	case n.kind == unknown:
		return false
	case n.nullable:
		w.out = append(w.out, "null"...)
		w.judge(&n.rules, n.enum == nil)
	case n.fill != nil:
		w.out = append(w.out, n.fill.json...)
		w.judge(&n.rules, n.fill.valid)
	}
	return true
}

// fill adds members that are missing and have a default. It returns how many of them are required.
func (w *walker) fill(n *node, first int) int {
	required := 0
	for _, i := range n.filled {
		m := &n.members[i]
		if slices.ContainsFunc(w.segments[first:], func(s segment) bool { return bytes.Equal(w.out[s.start:s.name], m.quoted) }) {
			continue
		}
		s := segment{start: len(w.out), name: len(w.out) + len(m.quoted), rank: m.rank}
		w.out = append(append(append(w.out, m.quoted...), ':'), m.node.fill.json...)
		s.end = len(w.out)
		w.out = append(w.out, ',')
		w.segments = append(w.segments, s)
		w.judge(&m.node.rules, m.node.fill.valid)
		if m.required {
			required++
		}
	}
	return required
}

// order sorts the members of an object that stand in out from start to its end, and returns how many there are. A
// name must not be there twice.
func (w *walker) order(start, first int) (count int, ok bool) {
	segments := w.segments[first:]
	w.segments = w.segments[:first]
	byName := func(a, b segment) int {
		if a.rank > 0 && b.rank > 0 {
			return a.rank - b.rank
		}
		return compareNames(w.out[a.start:a.name], w.out[b.start:b.name])
	}
	sorted := true
	for i := range segments {
		if segments[i].end > segments[i].name {
			count++
		}
		sorted = sorted && (i == 0 || byName(segments[i-1], segments[i]) < 0)
	}
	if !sorted {
		slices.SortFunc(segments, byName)
	}
	if !sorted || count < len(segments) {
		w.scratch = w.scratch[:0]
		for i, s := range segments {
			if i > 0 && byName(segments[i-1], s) == 0 {
				return 0, false
			}
			if s.end > s.name {
				w.scratch = append(append(w.scratch, w.out[s.start:s.end]...), ',')
			}
		}
		w.out = append(w.out[:start], w.scratch...)
	}
	if count > 0 {
		w.out = w.out[:len(w.out)-1] // The last comma.
	}
	return count, true
}

// compareNames compares names as JSON without escapes: as bytes, so that one that
// another begins with comes first.
func compareNames(a, b []byte) int {
	return bytes.Compare(a[1:len(a)-1], b[1:len(b)-1])
}

// value copies the next value, which is no null.
func (w *walker) value(n *node) bool {
	c := w.next()
	switch n.kind {
	case object:
		return c == '{' && w.nested(n, (*walker).object)
	case array:
		return c == '[' && w.nested(n, (*walker).array)
	case text:
		return c == '"' && w.text(n)
	case integer, number:
		return w.number(n)
	case boolean:
		w.judge(&n.rules, n.enum == nil)
		return w.boolean()
	case intOrString:
		if c == '"' {
			return w.text(n)
		}
		return w.number(n)
	case anything:
		w.judge(&n.rules, true)
		return w.anything(n)
	case unknown:
	}
	return false
}

// anything copies a value of any type.
func (w *walker) anything(n *node) bool {
	switch w.next() {
	case '{':
		return w.nested(n, (*walker).object)
	case '[':
		return w.nested(n, (*walker).array)
	case '"':
		return w.text(n)
	case 't', 'f':
		return w.boolean()
	}
	return w.number(n)
}

func (w *walker) nested(n *node, container func(*walker, *node) bool) bool {
	if w.depth++; w.depth > maxDepth {
		return false
	}
	ok := container(w, n)
	w.depth--
	return ok
}

func (w *walker) object(n *node) bool { return w.members(n, nil) }

func (w *walker) array(n *node) bool {
	start := len(w.out)
	w.out = append(w.out, '[')
	w.at++
	count := 0
	for more, ok := w.next() != ']', true; more; more, ok = w.more(']') {
		if !ok {
			return false
		}
		if count > 0 {
			w.out = append(w.out, ',')
		}
		count++
		if w.next() != 'n' {
			if !w.value(n.items) {
				return false
			}
			continue
		}
		before := len(w.out)
		if !w.word("null") || !w.null(n.items) {
			return false
		}
		if len(w.out) == before { // The library leaves it, and mostly it is an error.
			if n.items.kind != anything {
				return false
			}
			w.out = append(w.out, "null"...)
		}
	}
	if w.next() != ']' {
		return false
	}
	w.at++
	w.out = append(w.out, ']')
	w.judge(&n.rules, n.size.holds(count) && (count < 2 || n.unique == nil || n.unique(w.out[start:])))
	return true
}

func (w *walker) boolean() bool {
	start := w.at
	if !w.word("true") && !w.word("false") {
		return false
	}
	w.out = append(w.out, w.data[start:w.at]...)
	return true
}

// text copies a string, with none but the escapes that JSON demands.
func (w *walker) text(n *node) bool {
	value, plain := w.quoted()
	if value == nil {
		return false
	}
	start := len(w.out)
	content := value[1 : len(value)-1]
	if plain {
		w.out = append(w.out, value...)
	} else {
		var err error
		if w.scratch, err = jsontext.AppendUnquote(w.scratch[:0], value); err != nil {
			return false
		}
		content = w.scratch
		if w.out, err = jsontext.AppendQuote(w.out, content); err != nil {
			return false
		}
	}
	w.judge(&n.rules, n.lists(w.out[start:]) && n.allows(content))
	return true
}

// judge takes down what is found about a value.
func (w *walker) judge(r *rules, good bool) {
	if r.further || !good {
		w.further = true
	}
}
