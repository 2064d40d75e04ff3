// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	engineutils "github.com/kyverno/kyverno/pkg/engine/utils"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// truth is a condition, and what must be true for it not to have an error.
type truth struct {
	guard, ok cel
}

// conditions converts a block of conditions in any form that Kyverno takes.
func (c *converter) conditions(raw any, s scope, field string) truth {
	typed, err := engineutils.TransformConditions(raw)
	if err != nil {
		return truth{always, c.refuse(field, "correct it", "the conditions can't be read: %v", err)}
	}
	switch typed := typed.(type) {
	case []kyvernov1.Condition:
		return c.anyAll(kyvernov1.AnyAllConditions{AllConditions: typed}, s, field)
	case kyvernov1.AnyAllConditions:
		return c.anyAll(typed, s, field)
	case *kyvernov1.AnyAllConditions:
		return c.anyAll(*typed, s, field)
	default:
		return truth{always, c.refuse(field, byHand, "the conditions are a %T", typed)}
	}
}

// anyAll converts any and all. The engine ends with the first condition that decides.
func (c *converter) anyAll(conditions kyvernov1.AnyAllConditions, s scope, field string) truth {
	result := truth{always, always}
	if conditions.AnyConditions != nil {
		one := c.each(conditions.AnyConditions, s, field+".any")
		result = truth{always, never}
		for i := len(one) - 1; i >= 0; i-- {
			result.guard = and(one[i].guard, or(one[i].ok, result.guard))
			result.ok = or(one[i].ok, result.ok)
		}
	}
	all := c.each(conditions.AllConditions, s, field+".all")
	guard, before := result.guard, always
	for _, one := range all {
		guard = and(guard, or(not(before), one.guard))
		before = and(before, one.ok)
	}
	return truth{guard, and(result.ok, before)}
}

func (c *converter) each(conditions []kyvernov1.Condition, s scope, field string) []truth {
	out := make([]truth, len(conditions))
	for i, condition := range conditions {
		out[i] = c.condition(condition, s, fmt.Sprintf("%s[%d]", field, i))
	}
	return out
}

func (c *converter) condition(condition kyvernov1.Condition, s scope, field string) truth {
	key := c.operand(condition.RawKey, s, field+".key")
	value := c.operand(condition.RawValue, s, field+".value")
	k := comparedKey{c: c, key: key, value: value, field: field}
	ok := k.compare(string(condition.Operator))
	guard := and(key.guard(), value.guard())
	if key.literal == nil {
		ok = and(key.present, ok)
	}
	return truth{guard, ok}
}

// part is a piece of a text: plain, or a variable.
type part struct {
	text       string
	isVariable bool
}

// partsOf cuts a text with variables, which may have variables in them.
func partsOf(text string) ([]part, bool) {
	var parts []part
	depth, begin := 0, 0
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "{{"):
			if depth++; depth == 1 {
				if i > begin {
					parts = append(parts, part{text: text[begin:i]})
				}
				begin = i + 2
			}
			i++
		case strings.HasPrefix(text[i:], "}}") && depth > 0:
			if depth--; depth == 0 {
				parts = append(parts, part{text[begin:i], true})
				begin = i + 2
			}
			i++
		}
	}
	if begin < len(text) {
		parts = append(parts, part{text: text[begin:]})
	}
	return parts, depth == 0
}

// operand converts the key or the value of a condition.
func (c *converter) operand(raw *apiextensionsv1.JSON, s scope, field string) term {
	if raw == nil {
		return c.refuseTerm(field, "set it", "it is missing")
	}
	var value any
	if err := json.Unmarshal(raw.Raw, &value); err != nil {
		return c.refuseTerm(field, "correct it", "it can't be read: %v", err)
	}
	return c.operandOf(value, s, field)
}

func (c *converter) operandOf(value any, s scope, field string) term {
	switch value := value.(type) {
	case string:
		if strings.Contains(value, "{{") {
			return c.template(value, s, field)
		}
		return c.literal(value, field)
	case []any:
		texts := make([]string, len(value))
		for i, item := range value {
			text, ok := item.(string)
			if ok && strings.Contains(text, "{{") {
				return c.listOf(value, s, field)
			}
			if texts[i] = scalarText(item); texts[i] == "" && item != "" {
				return c.refuseTerm(field, byHand, "the list has a %T", item)
			}
		}
		return term{cel: quotes(texts), kind: listKind, present: always, literal: texts}
	case float64:
		if isWhole(value) {
			return term{cel: whole(int64(value)), kind: numberKind, present: always, literal: int64(value)}
		}
		return c.literal(value, field)
	default:
		return c.literal(value, field)
	}
}

// scalarText is how Kyverno prints a scalar; empty if it is none.
func scalarText(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return fmt.Sprint(value)
	default:
		return ""
	}
}

// listOf converts a list with variables: those that are lists are not flattened.
func (c *converter) listOf(items []any, s scope, field string) term {
	out := term{kind: listKind, present: always}
	var elements []cel
	for i, item := range items {
		t := c.operandOf(item, s, fmt.Sprintf("%s[%d]", field, i))
		out.guards = append(out.guards, t.guards...)
		elements = append(elements, textOf(t))
	}
	out.cel = list(elements...)
	return out
}

// template converts a text with variables: alone, one is a value of any type; among other text it is text.
func (c *converter) template(text string, s scope, field string) term {
	parts, ok := partsOf(strings.TrimSpace(text))
	if !ok || strings.Contains(text, `\{{`) {
		return c.refuseTerm(field, byHand, "the variables in %q can't be read", text)
	}
	if len(parts) == 1 && parts[0].isVariable {
		return c.jmespath(parts[0].text, s, field)
	}
	out := term{kind: textKind, present: always}
	var texts []cel
	parts, _ = partsOf(text)
	for _, each := range parts {
		if !each.isVariable {
			texts = append(texts, quote(each.text))
			continue
		}
		t := c.jmespath(each.text, s, field)
		if t.kind == listKind {
			return c.refuseTerm(field, byHand, "a list is part of the text %q", text)
		}
		out.guards = append(out.guards, t.guards...)
		texts = append(texts, textOf(t))
	}
	out.cel = sum(texts[0], texts[1:]...)
	return out
}
