// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"math"
	"reflect"
	"strings"
)

// size estimates a value: the length of its JSON, and its memory without the text of its strings,
// which are parts of what is packed, mostly.
type size struct{ text, memory int64 }

// What Go takes for values in interfaces: a small map has eight places.
const (
	stringBytes = 16
	numberBytes = 8
	sliceBytes  = 24
	memberBytes = 16
	mapBytes    = 48
	groupBytes  = 288
)

// sizer stops where the text gets longer than a limit: a value may be in another a million times.
type sizer struct {
	size
	// shared is the part of text that is in arrays of known size.
	shared int64
	limit  int64
	// known is the size of arrays by their first member.
	known map[*any]measured
}

type measured struct {
	length int
	size   size
}

// unlimited is a limit for values that have been measured before.
const unlimited = math.MaxInt64

func sizeOf(value any, limit int64) size {
	s := sizer{limit: limit}
	s.add(value)
	return s.size
}

func (s *sizer) add(value any) {
	if s.text > s.limit {
		return
	}
	switch value := value.(type) {
	case string:
		s.text += int64(len(value)) + 2
		s.memory += stringBytes
	case float64:
		s.text += 3
		s.memory += numberBytes
	case map[string]any:
		s.text += 2
		s.memory += mapBytes + groupBytes*int64((len(value)+7)/8)
		for key, member := range value {
			s.text += int64(len(key)) + 4
			s.add(member)
		}
	case []any:
		if len(value) > 0 {
			if known, ok := s.known[&value[0]]; ok && known.length == len(value) {
				s.text += known.size.text
				s.shared += known.size.text
				return
			}
		}
		s.text += 2 + int64(len(value))
		s.memory += sliceBytes + memberBytes*int64(len(value))
		for _, member := range value {
			s.add(member)
		}
	default:
		s.other(value)
	}
}

// other is about what functions return: arrays of another type, and small things.
func (s *sizer) other(value any) {
	s.text += 5
	if array := reflect.ValueOf(value); array.IsValid() && array.Kind() == reflect.Slice {
		s.memory += sliceBytes
		for i := range array.Len() {
			s.add(array.Index(i).Interface())
		}
	}
}

// tooLarge is the error of a value beyond the limit.
func tooLarge(what string, limit int64) error {
	return fmt.Errorf("%s is larger than %d bytes: select less of the data", what, limit)
}

// own copies a value so that it has no part of other texts, which it would keep in memory. Literals of
// expressions are in values, too: nothing is changed where it is.
func own(value any) any {
	switch value := value.(type) {
	case string:
		return strings.Clone(value)
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, member := range value {
			copied[strings.Clone(key)] = own(member)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, member := range value {
			copied[i] = own(member)
		}
		return copied
	default:
		return value
	}
}
