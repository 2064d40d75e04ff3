// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
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

// CheckProperty returns an error if properties of that name can't be asked for: SQLite has no way to write a quote in the
// path to a property.
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

// maxDecimal is the largest length of a decimal number: as many digits as mean the same number to all engines.
const maxDecimal = 16

var decimalPattern = regexp.MustCompile(`^-?[0-9]+([.][0-9]+)?$`)

// Decimal returns the number that a text is: digits, perhaps with a sign before and a fraction behind them, in at most 16 characters.
func Decimal(text string) (number float64, ok bool) {
	if len(text) > maxDecimal || !decimalPattern.MatchString(text) {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}
