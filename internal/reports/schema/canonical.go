// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns the body of a decoded object in the form of [Parts].
func Canonical(content map[string]any) ([]byte, error) {
	body := maps.Clone(content)
	maps.DeleteFunc(body, func(name string, _ any) bool { return isReserved(name) })
	return appendCanonical(nil, body)
}

// appendCanonical appends a value that was decoded from JSON.
func appendCanonical(out []byte, value any) (_ []byte, err error) {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case int64:
		return strconv.AppendInt(out, v, 10), nil
	case float64:
		if v == 0 {
			return append(out, '0'), nil // A negative zero as well: stored numbers have no sign then.
		}
		number, err := json.Marshal(v)
		return append(out, number...), err
	case string:
		return jsontext.AppendQuote(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendCanonical(out, item); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case map[string]any:
		return appendObject(out, v)
	}
	return nil, fmt.Errorf("a %T is no value of JSON", value)
}

func appendObject(out []byte, object map[string]any) (_ []byte, err error) {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return nil, err
		}
		out = append(out, ':')
		if out, err = appendCanonical(out, object[name]); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// Parse returns the tree of Go values of JSON in the form of [Parts]: whole numbers are
// int64, others float64.
func Parse(body []byte) (map[string]any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	value, err := parseValue(d)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a %T is no JSON object", value)
	}
	return object, nil
}

func parseValue(d *jsontext.Decoder) (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return parseObject(d)
	case '[':
		return parseArray(d)
	case '"':
		return token.String(), nil
	case '0':
		text := token.String()
		if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
			return whole, nil
		}
		return strconv.ParseFloat(text, 64)
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil // A null.
	}
}

func parseObject(d *jsontext.Decoder) (any, error) {
	object := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if object[key], err = parseValue(d); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

func parseArray(d *jsontext.Decoder) (any, error) {
	array := []any{}
	for d.PeekKind() != ']' {
		item, err := parseValue(d)
		if err != nil {
			return nil, err
		}
		array = append(array, item)
	}
	_, err := d.ReadToken()
	return array, err
}
