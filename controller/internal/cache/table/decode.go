// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errJSON = errors.New("not the JSON that was packed")

// maxDepth is that of encoding/json, which has made what is decoded here.
const maxDepth = 10000

// decode reads JSON that encoding/json has written, into what encoding/json makes of it: numbers are
// float64. Strings are parts of data where they can be, so that an object takes little more
// memory than its maps. What is not needed is left out.
func decode(data string, needed *need) (any, error) {
	return (&decoder{data: data}).decode(needed)
}

// decodeAlike is decode for one of many alike: what they have in common is decoded once.
func decodeAlike(data string, known map[string]any) (any, error) {
	return (&decoder{data: data, known: known}).decode(nil)
}

func (d *decoder) decode(needed *need) (any, error) {
	value := d.value(0, needed)
	if d.failed || d.at != len(d.data) {
		return nil, errJSON
	}
	return value, nil
}

// decoder knows no white space: what is packed has none.
type decoder struct {
	data   string
	at     int
	failed bool
	// known, if not nil, are parts of objects by their text: objects of a kind have many in common,
	// and nobody changes them.
	known map[string]any
}

// maxKnown is how long a text can be that is looked for.
const maxKnown = 512

func (d *decoder) peek() byte {
	if d.at < len(d.data) {
		return d.data[d.at]
	}
	return 0
}

func (d *decoder) fail() any {
	d.failed, d.at = true, len(d.data)
	return nil
}

// take skips a character that has to be there.
func (d *decoder) take(c byte) {
	if d.peek() != c {
		d.fail()
		return
	}
	d.at++
}

func (d *decoder) value(depth int, needed *need) any {
	if depth > maxDepth {
		return d.fail()
	}
	switch c := d.peek(); c {
	case '{', '[':
		if d.known != nil && depth > 1 {
			return d.common(depth, c)
		}
		return d.container(depth, needed, c)
	case '"':
		return d.text()
	case 't':
		return d.word("true", true)
	case 'f':
		return d.word("false", false)
	case 'n':
		return d.word("null", nil)
	default:
		return d.number()
	}
}

func (d *decoder) container(depth int, needed *need, first byte) any {
	if first == '{' {
		return d.object(depth, needed)
	}
	return d.array(depth, needed)
}

// common decodes a part that may be known.
func (d *decoder) common(depth int, first byte) any {
	start := d.at
	d.skip()
	text := d.data[start:d.at]
	if value, ok := d.known[text]; ok {
		return value
	}
	d.at = start
	value := d.container(depth, nil, first)
	if !d.failed && len(text) <= maxKnown {
		d.known[text] = value
	}
	return value
}

func (d *decoder) word(word string, value any) any {
	if !strings.HasPrefix(d.data[d.at:], word) {
		return d.fail()
	}
	d.at += len(word)
	return value
}

func (d *decoder) object(depth int, needed *need) any {
	object := map[string]any{}
	d.take('{')
	if d.peek() == '}' {
		d.at++
		return object
	}
	for !d.failed {
		key := d.text()
		d.take(':')
		if member, ok := needed.member(key); ok {
			object[key] = d.value(depth+1, member)
			if depth == 0 && needed != nil && len(object) == len(needed.members) {
				d.at = len(d.data) // There is no more to find.
				return object
			}
		} else {
			d.skip()
		}
		if d.peek() != ',' {
			break
		}
		d.at++
	}
	d.take('}')
	return object
}

func (d *decoder) array(depth int, needed *need) any {
	d.take('[')
	if d.peek() == ']' {
		d.at++
		return []any{}
	}
	array := make([]any, 0, 1) // Most of the lists in objects have one member.
	for !d.failed {
		array = append(array, d.value(depth+1, needed))
		if d.peek() != ',' {
			break
		}
		d.at++
	}
	d.take(']')
	return array
}

func (d *decoder) number() any {
	start := d.at
	for d.at < len(d.data) && strings.IndexByte("+-.0123456789Ee", d.data[d.at]) >= 0 {
		d.at++
	}
	number, err := strconv.ParseFloat(d.data[start:d.at], 64)
	if err != nil || math.IsInf(number, 0) {
		return d.fail()
	}
	return number
}

func (d *decoder) text() string {
	d.take('"')
	start := d.at
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case '"':
			text := d.data[start:d.at]
			d.at++
			return text
		case '\\':
			return d.escaped(start)
		}
		d.at++
	}
	d.fail()
	return ""
}

// escaped reads the rest of a string that has escape sequences.
func (d *decoder) escaped(start int) string {
	text := []byte(d.data[start:d.at])
	for d.at < len(d.data) {
		c := d.data[d.at]
		d.at++
		switch c {
		case '"':
			return string(text)
		case '\\':
			text = d.escape(text)
		default:
			text = append(text, c)
		}
	}
	d.fail()
	return ""
}

const escapes, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"

func (d *decoder) escape(text []byte) []byte {
	c := d.peek()
	d.at++
	if c == 'u' { // encoding/json writes no pairs of surrogates.
		return utf8.AppendRune(text, d.unit())
	}
	i := strings.IndexByte(escapes, c)
	if i < 0 {
		d.fail()
		return text
	}
	return append(text, meanings[i])
}

// unit reads four hexadecimal digits.
func (d *decoder) unit() rune {
	if d.at+4 > len(d.data) {
		d.fail()
		return 0
	}
	unit, err := strconv.ParseUint(d.data[d.at:d.at+4], 16, 16)
	if err != nil {
		d.fail()
		return 0
	}
	d.at += 4
	return rune(unit)
}

// skip passes over a value.
func (d *decoder) skip() {
	depth := 0
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case '"':
			d.skipText()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return
			}
			depth--
		case ',':
			if depth == 0 {
				return
			}
		}
		d.at++
	}
}

func (d *decoder) skipText() {
	d.at++
	for d.at < len(d.data) {
		end := strings.IndexByte(d.data[d.at:], '"')
		if end < 0 {
			d.fail()
			return
		}
		escape := strings.IndexByte(d.data[d.at:d.at+end], '\\')
		if escape < 0 {
			d.at += end + 1
			return
		}
		d.at = min(d.at+escape+2, len(d.data))
	}
}
