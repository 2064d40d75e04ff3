// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// rules are those of one value that its kind doesn't say.
type rules struct {
	// further says that there are rules that only the library judges.
	further bool
	// whole says that one of them may be broken by leaving out a part of the value.
	whole bool
	// enum holds the texts or whole numbers that are allowed, as JSON; nil for any.
	enum [][]byte
	// low and high are the bounds of a number.
	low, high int64
	// size has the bounds of how many characters, items or members there are.
	size bounds
	// matches judges a text; nil if there is nothing to judge.
	matches []func(content []byte) bool
	// unique says whether items, which a JSON array has in canonical form, differ as they must; nil if they needn't.
	unique func(array []byte) bool
}

type bounds struct{ low, high int }

func (b bounds) holds(count int) bool { return count >= b.low && count <= b.high }

const (
	lowest  = math.MinInt64
	highest = math.MaxInt64
)

func noRules() rules { return rules{low: lowest, high: highest, size: bounds{0, math.MaxInt}} }

// judges says whether there is any rule.
func (r *rules) judges() bool { return !reflect.DeepEqual(*r, noRules()) }

// lists says whether an enumeration has a value, which is given as JSON.
func (r *rules) lists(json []byte) bool {
	return r.enum == nil || slices.ContainsFunc(r.enum, func(word []byte) bool { return bytes.Equal(word, json) })
}

func (r *rules) allows(content []byte) bool {
	if r.size.low > 0 || r.size.high < len(content) {
		if !r.size.holds(utf8.RuneCount(content)) {
			return false
		}
	}
	for _, matches := range r.matches {
		if !matches(content) {
			return false
		}
	}
	return true
}

// rulesOf returns the rules of a value whose kind is known.
func rulesOf(n *node, s *structuralschema.Structural) rules {
	r := noRules()
	r.further = len(s.XValidations) > 0
	if s.XListType != nil && *s.XListType != "atomic" {
		r.unique = uniqueness(n, s)
		r.further = r.further || r.unique == nil
	}
	if s.ValueValidation == nil {
		return r
	}
	// Each rule that is understood is taken away.
	rest := *s.ValueValidation
	rest.Required = nil
	if n.kind == intOrString && reflect.DeepEqual(rest.AnyOf, eitherType) {
		rest.AnyOf = nil
	}
	r.addEnum(n.kind, &rest)
	switch n.kind {
	case text, intOrString: // Rules about texts say nothing about numbers.
		if n.kind == text {
			r.addFormat(&rest)
		}
		r.addPattern(&rest)
		r.addSize(&rest.MinLength, &rest.MaxLength)
	case integer, number:
		r.addBounds(n.kind, &rest)
	case array:
		r.addSize(&rest.MinItems, &rest.MaxItems)
	case object:
		r.addSize(&rest.MinProperties, &rest.MaxProperties)
	case unknown, boolean, anything:
	}
	if !reflect.DeepEqual(rest, structuralschema.ValueValidation{}) {
		r.further = true
		r.whole = rest.AnyOf != nil || rest.OneOf != nil || rest.AllOf != nil || rest.Not != nil
	}
	return r
}

// eitherType is what definitions have to say of values that are integers or strings.
var eitherType = []structuralschema.NestedValueValidation{
	{ForbiddenGenerics: structuralschema.Generic{Type: "integer"}}, {ForbiddenGenerics: structuralschema.Generic{Type: "string"}},
}

func (r *rules) addEnum(kind valueKind, rest *structuralschema.ValueValidation) {
	var enum [][]byte
	for _, value := range rest.Enum {
		switch v := value.Object.(type) {
		case string:
			if kind != text {
				return
			}
			enum = append(enum, quote(v))
		case int64:
			if kind != integer {
				return
			}
			enum = append(enum, strconv.AppendInt(nil, v, 10))
		default:
			return
		}
	}
	r.enum, rest.Enum = enum, nil
}

// addFormat adds the format of a text, if the library knows it.
func (r *rules) addFormat(rest *structuralschema.ValueValidation) {
	known := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}, Format: rest.Format}}
	version := environment.DefaultCompatibilityVersion()
	if err := validation.StripUnsupportedFormatsPostProcessorForVersion(version)(known); err != nil {
		return
	}
	rest.Format = ""
	if known.Format != "" && strfmt.Default.ContainsName(known.Format) {
		r.matches = append(r.matches, func(content []byte) bool { return strfmt.Default.Validates(known.Format, string(content)) })
	}
}

func (r *rules) addPattern(rest *structuralschema.ValueValidation) {
	if rest.Pattern == "" {
		return
	}
	if pattern, err := regexp.Compile(rest.Pattern); err == nil {
		r.matches = append(r.matches, pattern.Match)
		rest.Pattern = ""
	}
}

func (r *rules) addSize(low, high **int64) {
	if *low != nil && **low <= math.MaxInt32 {
		r.size.low, *low = int(**low), nil
	}
	if *high != nil && **high >= 0 && **high <= math.MaxInt32 {
		r.size.high, *high = int(**high), nil
	}
}

// addBounds adds bounds that are whole numbers. The library compares whole numbers with a fraction in its own way, and
// so has to judge by other bounds.
func (r *rules) addBounds(kind valueKind, rest *structuralschema.ValueValidation) {
	low, high := int64(lowest), int64(highest)
	switch {
	case kind == integer && rest.Format == "int32":
		low, high = math.MinInt32, math.MaxInt32
		rest.Format = ""
	case kind == integer || rest.Format != "float":
		rest.Format = "" // No other format says more than the type does.
	}
	exact := func(bound *float64) bool {
		const largest = 1 << 53
		return bound != nil && *bound == math.Trunc(*bound) && math.Abs(*bound) < largest && int64(*bound) >= low && int64(*bound) <= high
	}
	if exact(rest.Minimum) {
		low = int64(*rest.Minimum)
		if rest.ExclusiveMinimum {
			low++
		}
		rest.Minimum, rest.ExclusiveMinimum = nil, false
	}
	if exact(rest.Maximum) {
		high = int64(*rest.Maximum)
		if rest.ExclusiveMaximum {
			high--
		}
		rest.Maximum, rest.ExclusiveMaximum = nil, false
	}
	r.low, r.high = low, high
}

// uniqueness returns what compares the items of a set, or their keys; nil if they are not of a form that it knows.
func uniqueness(n *node, s *structuralschema.Structural) func([]byte) bool {
	if n.kind != array || n.items.nullable {
		return nil
	}
	var key func(item, buffer []byte) ([]byte, bool)
	switch {
	case *s.XListType == "set":
		key = func(item, _ []byte) ([]byte, bool) { return item, true }
	case *s.XListType == "map" && n.items.kind == object && len(s.XListMapKeys) > 0:
		key = func(item, buffer []byte) ([]byte, bool) {
			ok := Split(item, func(name, value []byte) bool {
				if slices.Contains(s.XListMapKeys, string(name)) {
					buffer = append(append(append(buffer, name...), ':'), value...)
				}
				return true
			})
			return buffer, ok
		}
	default:
		return nil
	}
	return func(array []byte) bool {
		seen := map[string]struct{}{}
		var buffer []byte
		return items(array, func(item []byte) bool {
			k, ok := key(item, buffer[:0])
			buffer = k
			if _, twice := seen[string(k)]; twice || !ok {
				return false
			}
			seen[string(k)] = struct{}{}
			return true
		})
	}
}
