// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Difference is where an answer is not the recorded one.
type Difference struct {
	// Exchange is the number of the request, from 1.
	Exchange int
	// What was asked, and Where in the answer the difference is.
	What, Where string
	Want, Got   string
}

// String says all of it in one line.
func (d Difference) String() string {
	return fmt.Sprintf("request %d, %s: %s: want %s, got %s", d.Exchange, d.What, d.Where, d.Want, d.Got)
}

// bindings are what symbols stand for in one replay.
type bindings struct {
	values map[string]string
	// owners are the symbols of UIDs and versions by value: no two may share one.
	owners map[string]string
}

func newBindings() *bindings {
	return &bindings{values: map[string]string{}, owners: map[string]string{}}
}

// stand returns the value of a symbol in a request. A UID that no answer gave is one of the program's
// own choice, so that any will do.
func (b *bindings) stand(symbol string) (string, error) {
	if symbol == symbolTime {
		return someTime, nil
	}
	if value, ok := b.values[symbol]; ok {
		return value, nil
	}
	kind, number := parts(symbol)
	switch kind {
	case symbolUID:
		b.values[symbol] = fmt.Sprintf("00000000-0000-4000-8000-%012d", number)
	case symbolCreated:
		b.values[symbol] = someTime
	default:
		return "", fmt.Errorf("the request has %s, which no answer before it has given: record a shorter run", symbol)
	}
	return b.values[symbol], nil
}

const someTime = "2026-01-01T00:00:00Z"

// parts returns the kind and the number of a symbol.
func parts(symbol string) (string, int) {
	name := strings.TrimLeft(strings.TrimPrefix(symbol, "$"), "abcdefghijklmnopqrstuvwxyz")
	number, _ := strconv.Atoi(name) // The pattern has digits only.
	return strings.TrimSuffix(strings.TrimPrefix(symbol, "$"), name), number
}

// fill puts values in the place of the symbols of a request.
func (b *bindings) fill(value any) (any, error) {
	switch value := value.(type) {
	case string:
		return b.fillText(value)
	case []any:
		out := make([]any, len(value))
		var err error
		for i, item := range value {
			if out[i], err = b.fill(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			name, err := b.fillText(key)
			if err != nil {
				return nil, err
			}
			if out[name], err = b.fill(value[key]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}

func (b *bindings) fillText(s string) (string, error) {
	var problem error
	out := symbols.ReplaceAllStringFunc(s, func(symbol string) string {
		value, err := b.stand(symbol)
		if err != nil {
			problem = err
		}
		return value
	})
	return out, problem
}

// comparison collects the differences of one answer.
type comparison struct {
	*bindings
	report func(where, want, got string)
}

// value compares a received value with the recorded one. Metadata goes first: it gives symbols their values.
func (c *comparison) value(where string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			c.report(where, "an object", show(got))
			return
		}
		c.object(where, want, fields)
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			c.report(where, show(want), show(got))
			return
		}
		for i := range want {
			c.value(fmt.Sprintf("%s[%d]", where, i), want[i], items[i])
		}
	case string:
		found, ok := got.(string)
		if !ok || !c.text(want, found) {
			c.report(where, show(want), show(got))
		}
	default: // A number as it was written, a boolean, null.
		if want != got {
			c.report(where, show(want), show(got))
		}
	}
}

func (c *comparison) object(where string, want, got map[string]any) {
	keys := slices.Sorted(maps.Keys(want))
	if i := slices.Index(keys, "metadata"); i > 0 {
		keys = slices.Insert(slices.Delete(keys, i, i+1), 0, "metadata")
	}
	known := map[string]bool{}
	for _, key := range keys {
		name := symbols.ReplaceAllStringFunc(key, func(symbol string) string { return c.values[symbol] })
		known[name] = true
		value, ok := got[name]
		if !ok {
			c.report(where+"."+key, show(want[key]), "nothing")
			continue
		}
		c.value(where+"."+key, want[key], value)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !known[name] {
			c.report(where+"."+name, "nothing", show(got[name]))
		}
	}
}

// text says whether a text is the recorded one, and binds the symbols in it that are free.
func (c *comparison) text(want, got string) bool {
	if !symbols.MatchString(want) {
		return want == got
	}
	var pattern strings.Builder
	var found []string
	rest := want
	for at := symbols.FindStringIndex(rest); at != nil; at = symbols.FindStringIndex(rest) {
		pattern.WriteString(regexp.QuoteMeta(rest[:at[0]]) + "(.+)")
		found = append(found, rest[at[0]:at[1]])
		rest = rest[at[1]:]
	}
	match := regexp.MustCompile("^" + pattern.String() + regexp.QuoteMeta(rest) + "$").FindStringSubmatch(got)
	if match == nil {
		return false
	}
	for i, symbol := range found {
		if !c.bind(symbol, match[i+1]) {
			return false
		}
	}
	return true
}

// bind says whether a symbol can stand for a value.
func (b *bindings) bind(symbol, value string) bool {
	kind, _ := parts(symbol)
	if kind == symbolCreated || symbol == symbolTime {
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return false
		}
	}
	bound, ok := b.values[symbol]
	switch {
	case symbol == symbolTime:
		return true
	case value == "":
		return false
	case kind == symbolList: // A server may say at any time that more has happened elsewhere.
		b.values[symbol] = value
		return true
	case ok:
		return bound == value
	case kind == symbolCreated:
		b.values[symbol] = value
		return true
	}
	if b.owners[kind+" "+value] != "" {
		return false
	}
	b.values[symbol], b.owners[kind+" "+value] = value, symbol
	return true
}

// shown is how much of a value a difference shows.
const shown = 300

func show(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(data) > shown {
		return string(data[:shown]) + "…"
	}
	return string(data)
}
