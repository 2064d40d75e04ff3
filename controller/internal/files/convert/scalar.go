// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/operators"
	"github.com/kyverno/kyverno/pkg/engine/operator"
	"k8s.io/apimachinery/pkg/api/resource"
)

// check is what a pattern says about one value.
type check struct {
	ok cel
	// needs tells that it is never ok without a value.
	needs bool
}

// scalar converts a pattern that is no map and no list, as Kyverno compares it (pkg/engine/pattern).
func (c *converter) scalar(p place, pattern any, field string) check {
	switch pattern := pattern.(type) {
	case nil:
		v := p.or(null)
		return check{ok: or(equal(v, null), equal(v, whole(0)), equal(v, emptyText), equal(v, never))}
	case bool:
		return check{equal(p.or(null), boolean(pattern)), true}
	case int64:
		return numeral(p, pattern)
	case float64:
		if isWhole(pattern) {
			return numeral(p, int64(pattern))
		}
		return check{ok: c.refuse(field, byHand, "the pattern is the decimal number %v", pattern)}
	case string:
		return c.text(p, pattern, field)
	default:
		return check{ok: c.refuse(field, byHand, "the pattern is a %T", pattern)}
	}
}

// numeral takes a number, or a text that is one.
func numeral(p place, pattern int64) check {
	v := p.or(null)
	return check{or(equal(v, whole(pattern)), equal(v, quote(strconv.FormatInt(pattern, 10)))), true}
}

// text converts alternatives (|) of conditions that must all be true (&).
func (c *converter) text(p place, pattern, field string) check {
	if strings.Contains(pattern, "{{") || strings.Contains(pattern, "$(") {
		return check{ok: c.refuse(field, "say it as a condition of validate.deny, or in CEL by hand", "the pattern has a variable")}
	}
	var plain []string
	var operands []cel
	needs := true
	for alternative := range strings.SplitSeq(pattern, "|") {
		alternative = strings.Trim(alternative, " ")
		if isPlain(alternative) && !strings.Contains(alternative, "&") {
			plain = append(plain, alternative)
			continue
		}
		all := check{ok: always}
		for condition := range strings.SplitSeq(alternative, "&") {
			one := c.oneCondition(p, strings.Trim(condition, " "), field)
			all = check{and(all.ok, one.ok), all.needs || one.needs}
		}
		operands = append(operands, all.ok)
		needs = needs && all.needs
	}
	if len(plain) > 0 {
		ok := oneOf(p.or(null), plain)
		operands = append([]cel{ok}, operands...)
	}
	return check{or(operands...), needs}
}

// isPlain reports whether a condition is a text that only a string can equal.
func isPlain(condition string) bool {
	if hasWildcard(condition) || condition == "" || condition == "true" || condition == "false" {
		return false
	}
	return operator.GetOperatorFromStringPattern(condition) == operator.Equal && !isDuration(condition) && !isQuantity(condition) && !isNumber(condition)
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

func isDuration(text string) bool {
	_, err := time.ParseDuration(text)
	return err == nil
}

func isQuantity(text string) bool {
	_, err := resource.ParseQuantity(text)
	return err == nil
}

// relations are the operators of patterns in CEL.
var relations = map[operator.Operator]string{
	operator.Equal: operators.Equals, operator.NotEqual: operators.NotEquals,
	operator.More: operators.Greater, operator.MoreEqual: operators.GreaterEquals,
	operator.Less: operators.Less, operator.LessEqual: operators.LessEquals,
}

// oneCondition converts one condition: an operator and what it compares with.
func (c *converter) oneCondition(p place, condition, field string) check {
	op := operator.GetOperatorFromStringPattern(condition)
	if op == operator.InRange || op == operator.NotInRange {
		return c.inRange(p, condition, op, field)
	}
	operand := strings.TrimSpace(condition[len(op):])
	if isDuration(operand) || isQuantity(operand) {
		return measured(p, op, operand)
	}
	v := asText(p.or(emptyText))
	switch op { // The others need numbers.
	case operator.Equal:
		needs := operand != "" && strings.Trim(operand, "*") != ""
		ok := wildcard(v, operand)
		if !needs {
			ok = and(p.present(), ok)
		}
		return check{ok, true}
	case operator.NotEqual:
		return check{and(p.present(), not(wildcard(asText(p.value()), operand))), true}
	default:
		return check{ok: c.refuse(field, byHand, "%q compares with a text, which never succeeds", condition)}
	}
}

func (c *converter) inRange(p place, condition string, op operator.Operator, field string) check {
	pattern, low, high := operator.InRangeRegex, ">=", "<="
	if op == operator.NotInRange {
		pattern, low, high = operator.NotInRangeRegex, "<", ">"
	}
	ends := pattern.FindStringSubmatch(condition)
	if len(ends) < 3 {
		return check{ok: c.refuse(field, byHand, "the range %q can't be read", condition)}
	}
	a := c.oneCondition(p, low+" "+ends[1], field)
	b := c.oneCondition(p, high+" "+ends[2], field)
	if op == operator.NotInRange {
		return check{ok: or(a.ok, b.ok)}
	}
	return check{ok: and(a.ok, b.ok)}
}

// measured compares durations if both are some, else quantities if both are some, else texts. No value counts as 0.
func measured(p place, op operator.Operator, operand string) check {
	v := asText(p.or(whole(0)))
	result := boolean(op == operator.NotEqual)
	if isQuantity(operand) {
		is, quantity := canBeQuantity(v), comparedQuantities(relations[op], v, quote(operand))
		if op == operator.NotEqual {
			result = or(not(is), quantity)
		} else {
			result = and(is, quantity)
		}
	}
	if isDuration(operand) {
		result = choose(canBeDuration(v), comparedDurations(relations[op], v, quote(operand)), result)
	}
	return check{ok: result}
}
