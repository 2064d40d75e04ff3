// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package operand

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/ext/wildcard"
	"github.com/kyverno/kyverno/pkg/engine/operator"
)

// Condition returns an [Error] if the engine can't read an operand of a condition. What it can read and finds of
// another type or unequal is none.
func Condition(name kyvernov1.ConditionOperator, key, value any) error {
	fails := func(why string) error {
		return errorf("%s can't compare %s with %s: %s", name, shown(key), shown(value), why)
	}
	switch of := strings.ToLower(string(name)); of {
	case "greaterthan", "greaterthanorequals", "lessthan", "lessthanorequals":
		if !ordered(key, value) {
			return fails("they are not both numbers, both quantities such as 10Gi, both durations such as 5m, or both versions such as 1.2.3")
		}
	case "durationgreaterthan", "durationgreaterthanorequals", "durationlessthan", "durationlessthanorequals":
		if !inTime(key) || !inTime(value) {
			return fails("they are not both durations such as 5m or numbers of seconds")
		}
	case "equal", "equals", "notequal", "notequals":
		if why := equality(strings.HasPrefix(of, "not"), key, value); why != "" {
			return fails(why)
		}
	case "in", "notin", "anyin", "anynotin", "allin", "allnotin":
		if why := membership(of, key, value); why != "" {
			return fails(why)
		}
	}
	return nil
}

// equality returns why Equals, or NotEquals, has no answer.
func equality(negated bool, key, value any) string {
	switch key := key.(type) {
	case bool, float64, map[string]any, []any:
	case int, int64:
		text, ok := value.(string)
		if _, err := strconv.ParseInt(text, 10, 64); ok && err != nil && isDecimal(text) {
			return "the whole number is compared with whole numbers only"
		}
	case string:
		text, ok := value.(string)
		if ok && text != "" && wildcard.ContainsWildcard(text) && isQuantity(key) && !isQuantity(text) && !durations(key, text) {
			return "the first one is read as a quantity, and the pattern is none"
		}
	case nil: // Both operators say false.
		if negated == (value != nil) {
			return "the first one is null"
		}
	default:
		return "the first one is of a type without an order or an equal"
	}
	return ""
}

// membership returns why an operator about members has no answer. With an operand that the engine can't read, In and
// NotIn are both false. For In and null, that is right.
func membership(of string, key, value any) string {
	negated := strings.Contains(of, "notin")
	if !negated && (key == nil || value == nil) {
		return ""
	}
	var texts []string
	list, isList := key.([]any)
	switch key.(type) {
	case []any:
		for _, item := range list {
			texts = append(texts, fmt.Sprint(item))
		}
	case string, int, int32, int64, float32, float64, bool:
		texts = []string{fmt.Sprint(key)}
	default:
		return "the first one is neither a text, a number, a boolean nor a list of them"
	}
	older := of == "in" || of == "notin"
	switch value := value.(type) {
	case []any:
		isText := func(item any) bool { _, ok := item.(string); return ok }
		if older && isList && slices.ContainsFunc(value, func(item any) bool { return !isText(item) }) {
			return "the list has more than texts: use AnyIn, AllIn, AnyNotIn or AllNotIn"
		}
		return ""
	case string:
		return memberOfText(texts, value, isList, negated, older)
	case int, int32, int64, float32, float64, bool:
		if isList && strings.HasPrefix(of, "any") {
			return ""
		}
	}
	return "the second one is no list"
}

// memberOfText is membership for a text, which stands for itself, a range, or a list in JSON.
func memberOfText(keys []string, value string, isList, negated, older bool) string {
	decided := len(keys) == 1 && (keys[0] == value || !isList && wildcard.Match(value, keys[0]))
	if decided {
		return ""
	}
	if !older && operator.GetOperatorFromStringPattern(value) == operator.InRange {
		if slices.ContainsFunc(keys, func(key string) bool { return undecided(key, value) }) {
			return "it is not in the unit of the range"
		}
		return ""
	}
	var list []string
	switch {
	case json.Unmarshal([]byte(value), &list) == nil:
		return ""
	case !older && !json.Valid([]byte(value)): // A text for itself.
		return ""
	case !negated && !strings.HasPrefix(value, "[") && !strings.HasPrefix(value, "{"): // It is no member of another scalar.
		return ""
	default:
		return "the second one is no list of texts"
	}
}
