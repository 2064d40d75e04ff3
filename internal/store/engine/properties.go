// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A property of a result is a field as well, whose text is "" where a result doesn't have it. Its name is behind this
// prefix, which is how it differs from other fields.
const propertyPrefix = "properties."

// MaxPropertyName is the largest length of the name of a property in bytes.
const MaxPropertyName = 253

// Property returns the field of a property of that name. CheckProperty says which names are possible.
func Property(name string) Field { return Field(propertyPrefix + name) }

// Property returns the name of the property that the field is, and whether it is one.
func (f Field) Property() (name string, ok bool) { return strings.CutPrefix(string(f), propertyPrefix) }

// CheckProperty returns an error if properties of that name can't be asked for: SQLite has no way to write a quote in
// the path to a property.
func CheckProperty(name string) error {
	switch {
	case name == "":
		return errors.New("the name of a property is empty")
	case len(name) > MaxPropertyName:
		return fmt.Errorf("the name of a property, %.20q…, is longer than %d bytes", name, MaxPropertyName)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name of a property, %q, is not UTF-8", name)
	case strings.ContainsAny(name, `"\`) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the name of a property, %q, has a quote, a backslash or a control character: such a property can't be asked for", name)
	}
	return nil
}

// Property returns the text of a property, "" for none.
func (v *Verdict) Property(name string) string {
	var properties map[string]string
	if err := json.Unmarshal([]byte(v.Properties), &properties); err != nil {
		return ""
	}
	return properties[name]
}
