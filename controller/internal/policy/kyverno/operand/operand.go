// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package operand

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/resource"
)

// maxShown is how many letters of an operand a message has.
const maxShown = 80

// Error says which operand can't be read.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

func errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Wrap returns an error of a function whose arguments are there, with the same text.
func Wrap(err error) error { return &Error{err.Error()} }

// shown writes an operand for a message.
func shown(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("a value of type %T", value)
	}
	if text := []rune(string(data)); len(text) > maxShown {
		return string(text[:maxShown]) + "…"
	}
	return string(data)
}

// number reports whether a value is a number, and which.
func number(value any) (float64, bool) {
	switch typed := value.(type) {
	case int:
		return float64(typed), true
	case int64:
		return float64(typed), true
	case float64:
		return typed, !math.IsNaN(typed)
	default:
		return 0, false
	}
}

// Number returns a value as JMESPath knows numbers, if it is one.
func Number(value any) any {
	if n, ok := number(value); ok {
		return n
	}
	return value
}

// The engine reads texts with the same functions.

func isDecimal(text string) bool {
	n, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(n)
}

func isDuration(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil
}

func isQuantity(text string) bool {
	_, err := resource.ParseQuantity(text)
	return err == nil
}

func isVersion(text string) bool {
	_, err := semver.Parse(text)
	return err == nil
}

// durations reports whether the engine compares two values as durations: one of them has to be written as one, and a
// number counts as seconds.
func durations(a, b any) bool {
	written := func(value any) bool {
		text, ok := value.(string)
		return ok && text != "0" && isDuration(text)
	}
	readable := func(value any) bool {
		_, ok := number(value)
		return ok || written(value)
	}
	return (written(a) || written(b)) && readable(a) && readable(b)
}

// ordered reports whether GreaterThan and its kin have a way to compare two values.
func ordered(key, value any) bool {
	if durations(key, value) {
		return true
	}
	text, isText := value.(string)
	_, isNumber := number(value)
	if _, ok := number(key); ok {
		return isNumber || isText && isDecimal(text)
	}
	first, ok := key.(string)
	switch {
	case !ok:
		return false
	case isText && (isQuantity(first) && isQuantity(text) || isVersion(first) && isVersion(text)):
		return true
	default:
		return isDecimal(first) && (isNumber || isText && (isDecimal(text) || durations(float64(0), text)))
	}
}

// maxSeconds is the longest duration that the engine can hold.
const maxSeconds = float64(math.MaxInt64 / int64(time.Second))

// inTime reports whether the operators for durations can read a value.
func inTime(value any) bool {
	if n, ok := number(value); ok {
		return math.Abs(n) <= maxSeconds
	}
	text, ok := value.(string)
	return ok && isDuration(text)
}
