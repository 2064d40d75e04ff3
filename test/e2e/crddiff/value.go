// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Value is a text of JSON as a tree. Other than Go's own values it can be what clients send and
// encoding/json would not write: numbers in any notation, a key twice, bytes that are no UTF-8.
type Value struct {
	// open is '{' or '[', or 0 for a literal.
	open    byte
	literal string
	members []member
}

type member struct {
	key   string // as it is written, with its quotes; empty in arrays
	value *Value
}

// Literal returns a value that is written as text.
func Literal(text string) *Value { return &Value{literal: text} }

// Null returns null.
func Null() *Value { return Literal("null") }

// String returns a string.
func String(text string) *Value { return Literal(quote(text)) }

// Array returns an array.
func Array(items ...*Value) *Value {
	v := &Value{open: '['}
	for _, item := range items {
		v.Append(item)
	}
	return v
}

// Object returns an object of pairs of keys and values.
func Object(pairs ...any) *Value {
	v := &Value{open: '{'}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, isKey := pairs[i].(string)
		if !isKey {
			panic(fmt.Sprintf("key %v is a %T", pairs[i], pairs[i]))
		}
		v.Set(key, valueOf(pairs[i+1]))
	}
	return v
}

// Parse reads a text of JSON. Numbers keep their notation.
func Parse(text string) (*Value, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var parsed any
	if err := decoder.Decode(&parsed); err != nil {
		return nil, fmt.Errorf("parse %q: %w", text, err)
	}
	return valueOf(parsed), nil
}

// must is Parse for texts in this package.
func must(text string) *Value {
	v, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return v
}

func valueOf(plain any) *Value {
	switch p := plain.(type) {
	case *Value:
		return p
	case string:
		return String(p)
	case json.Number:
		return Literal(p.String())
	case map[string]any:
		v := &Value{open: '{'}
		for _, key := range sortedKeys(p) {
			v.Set(key, valueOf(p[key]))
		}
		return v
	case []any:
		v := Array()
		for _, item := range p {
			v.Append(valueOf(item))
		}
		return v
	default:
		return Literal(fmt.Sprint(jsonText(p)))
	}
}

// Set sets a key of an object to a value.
func (v *Value) Set(key string, value *Value) {
	for i := range v.members {
		if v.members[i].key == quote(key) {
			v.members[i].value = value
			return
		}
	}
	v.Add(key, value)
}

// Add adds a key to an object, which may have it already.
func (v *Value) Add(key string, value *Value) {
	v.members = append(v.members, member{quote(key), value})
}

// Append adds an item to an array.
func (v *Value) Append(item *Value) { v.members = append(v.members, member{value: item}) }

// Get returns what an object has under a key, nil if nothing.
func (v *Value) Get(key string) *Value { return v.member(quote(key)) }

// member is Get for a key as it is written.
func (v *Value) member(key string) *Value {
	for _, m := range v.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// Remove takes a key out of an object.
func (v *Value) Remove(key string) {
	for i, m := range v.members {
		if m.key == quote(key) {
			v.members = append(v.members[:i], v.members[i+1:]...)
			return
		}
	}
}

// Clone returns a copy of the tree.
func (v *Value) Clone() *Value {
	if v == nil {
		return nil
	}
	c := &Value{open: v.open, literal: v.literal}
	for _, m := range v.members {
		c.members = append(c.members, member{m.key, m.value.Clone()})
	}
	return c
}

// Text returns the text.
func (v *Value) Text() string {
	var b bytes.Buffer
	v.write(&b)
	return b.String()
}

func (v *Value) write(b *bytes.Buffer) {
	if v.open == 0 {
		b.WriteString(v.literal)
		return
	}
	b.WriteByte(v.open)
	for i, m := range v.members {
		if i > 0 {
			b.WriteByte(',')
		}
		if v.open == '{' {
			b.WriteString(m.key)
			b.WriteByte(':')
		}
		m.value.write(b)
	}
	b.WriteByte(v.open + 2) // Braces and brackets are two apart.
}

// quote returns a string of JSON. Bytes that are no UTF-8 stay what they are.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// jsonText returns what encoding/json makes of a value.
func jsonText(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%v (%v)", value, err)
	}
	return string(data)
}
