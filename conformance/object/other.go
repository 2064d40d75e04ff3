// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// otherScalar returns another scalar that a schema allows as well; nil if it finds none.
func otherScalar(v *view, value any) any {
	if enum := v.enum(); len(enum) > 0 {
		for _, one := range enum {
			if !isZero(one) && !same(one, value) {
				return runtime.DeepCopyJSONValue(one)
			}
		}
		return nil
	}
	switch value := value.(type) {
	case bool:
		return !value
	case string:
		if other := otherText(v, value); other != value {
			return other
		}
		return nil
	}
	if number, ok := numberOf(value); ok {
		return otherNumber(v, number)
	}
	return nil
}

func otherNumber(v *view, number float64) any {
	step := stepOf(v)
	least, most := bounds(v)
	for _, other := range []float64{number + step, number - step} {
		if least <= other && other <= most && other != number {
			return plainNumber(other)
		}
	}
	return nil
}

// otherText returns a string that differs from one as little as possible; the same string if it finds none.
func otherText(v *view, text string) string {
	if values, ok := formatValues[v.format()]; ok {
		for _, one := range values {
			if one != text && fits(v, one) {
				return one
			}
		}
	}
	var near []string
	if one, ok := ofSameForm(text); ok {
		near = append(near, one)
	}
	switch {
	case text == "":
	case strings.HasSuffix(text, "-1"):
		near = append(near, strings.TrimSuffix(text, "-1")+"-2")
	case strings.HasSuffix(text, "-2"):
		near = append(near, strings.TrimSuffix(text, "-2")+"-1")
	case strings.HasSuffix(text, " (changed)"):
		near = append(near, strings.TrimSuffix(text, " (changed)"))
	case strings.Contains(text, " "):
		near = append(near, text+" (changed)", text+".")
	default:
		near = append(near, text+"-1", text+"1", text+"a")
	}
	for _, one := range near {
		if one != text && fits(v, one) {
			return one
		}
	}
	if one := firstFitting(v, plain, text); fits(v, one) {
		return one
	}
	return text
}

// ofSameForm returns another number, time or the like for a string that is one.
func ofSameForm(text string) (string, bool) {
	if number, err := strconv.ParseInt(text, 10, 32); err == nil {
		return strconv.FormatInt(number+1, 10), true
	}
	if flag, err := strconv.ParseBool(text); err == nil && len(text) > 1 {
		return strconv.FormatBool(!flag), true
	}
	if length, err := time.ParseDuration(text); err == nil {
		return (length + time.Second).String(), true
	}
	if when, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return when.Add(time.Second).Format(time.RFC3339Nano), true
	}
	for _, suffix := range []string{"%", "m", "Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T"} {
		if number, err := strconv.ParseInt(strings.TrimSuffix(text, suffix), 10, 32); err == nil && strings.HasSuffix(text, suffix) {
			return strconv.FormatInt(number+1, 10) + suffix, true
		}
	}
	return "", false
}

// special tells that a string has a form that not every other string has.
func special(value any) bool {
	text, ok := value.(string)
	if !ok {
		return false
	}
	_, formed := ofSameForm(text)
	return formed || strings.ContainsAny(text, "/:@=%*$#") || strings.Count(text, ".") > 1
}
