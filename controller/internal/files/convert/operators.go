// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/kyverno/kyverno/pkg/engine/operator"
)

// comparedKey is a condition of which the operator is to be converted.
type comparedKey struct {
	c          *converter
	key, value term
	field      string
}

func (k comparedKey) compare(name string) cel {
	if k.key.literal != nil {
		return k.literalKey(strings.ToLower(name))
	}
	switch strings.ToLower(name) {
	case "equal", "equals":
		return k.equals()
	case "notequal", "notequals":
		ok := k.equals()
		return not(ok)
	case "anyin", "allin", "anynotin", "allnotin", "in", "notin":
		return k.in(strings.ToLower(name))
	case "greaterthan":
		return k.order(operators.Greater)
	case "greaterthanorequals":
		return k.order(operators.GreaterEquals)
	case "lessthan":
		return k.order(operators.Less)
	case "lessthanorequals":
		return k.order(operators.LessEquals)
	default:
		return k.c.refuse(k.field+".operator", "use another operator", "the operator %s is not supported", name)
	}
}

// literalKey converts a condition of which the value is the variable: which of some texts a list has.
func (k comparedKey) literalKey(name string) cel {
	keys, ok := k.key.literal.([]string)
	if text, isText := k.key.literal.(string); isText {
		keys, ok = []string{text}, true
	}
	isList := k.value.kind == listKind || k.value.path != nil && k.value.path.isList()
	if !ok || !isList || k.value.literal != nil || !slices.Contains([]string{"anyin", "allin", "anynotin", "allnotin"}, name) {
		return k.c.refuse(k.field+".key", "make the variable the key", "the key is a literal")
	}
	var each []cel
	for _, key := range keys {
		element := k.c.variable("e")
		v := asText(element)
		has := exists(k.value.cel, element, or(anyWildcard(v, []string{key}), equal(v, quote("*"))))
		if strings.HasSuffix(name, "notin") {
			has = not(has)
		}
		each = append(each, has)
	}
	joined := or(each...)
	if strings.HasPrefix(name, "all") {
		joined = and(each...)
	}
	return and(k.value.present, joined)
}

func (k comparedKey) equals() cel {
	key := k.key.cel
	switch value := k.value.literal.(type) {
	case nil:
		return k.equalsVariable()
	case bool:
		if k.key.kind != unknownKind && k.key.kind != boolKind {
			return never
		}
		return equal(key, k.value.cel)
	case int64, float64:
		if k.key.kind != unknownKind && k.key.kind != numberKind {
			return k.c.refuse(k.field+".value", "put the value into quotes", "a text is compared with a number")
		}
		return equal(key, k.value.cel)
	case string:
		return k.equalsText(value)
	case []string:
		if k.key.kind != listKind && k.key.kind != unknownKind {
			return never
		}
		return equal(key, k.value.cel)
	case []any, map[string]any:
		if k.key.kind != unknownKind && (k.key.kind != listKind || k.value.kind != listKind) {
			return never
		}
		return equal(key, k.value.cel)
	default:
		return k.c.refuse(k.field+".value", byHand, "it is a %T", value)
	}
}

func (k comparedKey) equalsText(value string) cel {
	key := k.key.cel
	text := textOf(k.key)
	switch {
	case k.key.kind == listKind || k.key.kind == boolKind:
		return never
	case k.key.kind == numberKind:
		number, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return never
		}
		return equal(key, whole(number))
	case isQuantity(value) || isDuration(value): // The engine tries both in this order.
		result := equal(text, quote(value))
		if isQuantity(value) {
			result = choose(canBeQuantity(text), comparedQuantities(operators.Equals, text, quote(value)), result)
		}
		if isDuration(value) && value != "0" {
			result = choose(canBeDuration(text), comparedDurations(operators.Equals, text, quote(value)), result)
		}
		return result
	case !hasWildcard(value):
		return equal(key, quote(value))
	}
	ok := wildcard(key, value)
	if couldBeQuantity(value) {
		ok = and(ok, not(canBeQuantity(key)))
	}
	if k.key.kind == unknownKind {
		ok = and(isType(key, "string"), ok)
	}
	return ok
}

// couldBeQuantity reports whether a text with wildcards matches a quantity.
func couldBeQuantity(text string) bool {
	return strings.Trim(text, "*?0123456789.+-eEinumkKMGTP") == ""
}

func (k comparedKey) equalsVariable() cel {
	a, b := k.key, k.value
	same := equal(a.cel, b.cel)
	k.c.note("%s: * and ? in the value of a variable are no wildcards any more", k.field)
	if a.kind == listKind || b.kind == listKind || a.kind == numberKind || b.kind == numberKind || a.kind == boolKind || b.kind == boolKind {
		if a.kind != b.kind && a.kind != unknownKind && b.kind != unknownKind {
			return k.c.refuse(k.field, byHand, "values of two types are compared")
		}
		return same
	}
	var both []cel
	for _, each := range []term{a, b} {
		if each.kind != textKind {
			both = append(both, isType(each.cel, "string"))
		}
	}
	both = append(both, canBeQuantity(a.cel), canBeQuantity(b.cel))
	return choose(and(both...), comparedQuantities(operators.Equals, a.cel, b.cel), same)
}

// in converts the operators for sets.
func (k comparedKey) in(name string) cel {
	inList, inText := k.member()
	negative := strings.HasSuffix(name, "notin")
	one := func(member membership, v cel) cel {
		if negative {
			return not(member(v))
		}
		return member(v)
	}
	element := k.c.variable("e")
	quantified := exists
	if name == "allin" || name == "allnotin" || name == "in" {
		quantified = every
	}
	ofList := quantified(k.key.cel, element, one(inList, asText(element)))
	ofText := one(inText, textOf(k.key))
	switch {
	case k.key.kind == listKind:
		return ofList
	case k.key.kind != unknownKind || k.key.path != nil && k.key.path.isScalar():
		return ofText
	default:
		return choose(isType(k.key.cel, "list"), ofList, ofText)
	}
}

// refuse is for a value of which nothing can be a member.
func (k comparedKey) refuse(field, remedy, reason string, arguments ...any) (inList, inText membership) {
	k.c.refuse(field, remedy, reason, arguments...)
	none := func(cel) cel { return never }
	return none, none
}

// membership reports whether a text is one of the values of a condition.
type membership func(cel) cel

// member returns the memberships for the elements of a list and for a text.
func (k comparedKey) member() (inList, inText membership) {
	values := k.value
	switch literal := values.literal.(type) {
	case []string:
		both := func(v cel) cel { return k.oneOf(v, literal) }
		return both, both
	case string:
		return k.memberOfText(literal)
	case nil:
		if values.kind != listKind {
			return k.refuse(k.field+".value", "give a list", "it is not known whether the value is a list")
		}
		k.c.note("%s: * and ? in the value of a variable are no wildcards any more", k.field)
		both := func(v cel) cel { return in(v, values.cel) }
		return both, both
	default:
		return k.refuse(k.field+".value", "give a list of texts", "the value is %v", literal)
	}
}

// memberOfText is for a range, a list as JSON, or a text, which may have wildcards.
func (k comparedKey) memberOfText(literal string) (inList, inText membership) {
	if op := operator.GetOperatorFromStringPattern(literal); op == operator.InRange {
		both := func(v cel) cel { return k.c.inRange(at(v), literal, op, k.field).ok }
		return both, both
	}
	if !json.Valid([]byte(literal)) {
		inList = func(v cel) cel { return k.oneOf(v, []string{literal}) }
		return inList, func(v cel) cel { return anyWildcard(v, []string{literal}) }
	}
	var items []string
	if err := json.Unmarshal([]byte(literal), &items); err != nil {
		return k.refuse(k.field+".value", "give a list", "the value %q is no list", literal)
	}
	// Wildcards in such a list count for the elements of a list only.
	if slices.ContainsFunc(items, hasWildcard) {
		return k.refuse(k.field+".value", "give a list", "the value %q has wildcards", literal)
	}
	inList = func(v cel) cel { return k.oneOf(v, items) }
	return inList, func(v cel) cel { return anyWildcard(v, items) }
}

// oneOf is for a list of values. Kyverno takes wildcards on both sides: * in the resource is each of them.
func (k comparedKey) oneOf(v cel, values []string) cel {
	if len(values) == 0 {
		return never
	}
	ok := anyWildcard(v, values)
	if !slices.Contains(values, "*") && k.mayBeStar() {
		ok = or(ok, equal(v, quote("*")))
	}
	return ok
}

// mayBeStar reports whether the key may be * in a resource: names, kinds, images and the request are never.
func (k comparedKey) mayBeStar() bool {
	if k.key.path == nil {
		return !strings.HasPrefix(oneLine(k.key.cel), "request.")
	}
	return !k.key.path.isScalar()
}

// order converts the operators for numbers, quantities and durations.
func (k comparedKey) order(op string) cel {
	key := k.key
	if key.kind == listKind || key.kind == boolKind {
		return k.c.refuse(k.field, byHand, "a list or a truth is compared by size")
	}
	switch value := k.value.literal.(type) {
	case int64, float64:
		if key.kind == textKind {
			return k.c.refuse(k.field+".value", "put the value into quotes", "a text is compared with a number")
		}
		return call(op, key.cel, k.value.cel)
	case string:
		return k.orderOfText(value, op)
	case nil:
		if key.kind == numberKind && k.value.kind == numberKind {
			return call(op, key.cel, k.value.cel)
		}
		return comparedQuantities(op, textOf(key), textOf(k.value))
	default:
		return k.c.refuse(k.field+".value", byHand, "it is a %T", value)
	}
}

func (k comparedKey) orderOfText(value, op string) cel {
	key := k.key
	text := textOf(key)
	if key.kind == numberKind {
		if size, err := strconv.ParseFloat(value, 64); err == nil {
			return call(op, key.cel, number(size))
		}
		return k.c.refuse(k.field+".value", byHand, "a number is compared with %q", value)
	}
	quantity := comparedQuantities(op, text, quote(value))
	switch {
	case isDuration(value) && value != "0":
		return comparedDurations(op, text, quote(value))
	case isNumber(value) && isQuantity(value):
		return quantity
	case isQuantity(value) && key.kind == textKind:
		return quantity
	case isQuantity(value):
		return and(isType(key.cel, "string"), quantity)
	default:
		return k.c.refuse(k.field+".value", byHand, "%q is no number, quantity or duration", value)
	}
}
