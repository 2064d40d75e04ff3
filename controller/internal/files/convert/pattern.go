// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/kyverno/kyverno/pkg/engine/anchor"
)

// verdict is what a pattern says about a part of a resource, as in Kyverno's engine (pkg/engine/validate). It fails
// if none of its conditions is true; no two of them are true at a time.
type verdict struct {
	ok cel
	// direct is true if an anchor of the map itself makes the rule skip, skipped if everything below it does: the
	// engine treats the two differently beside other anchors.
	direct, skipped cel
	// needs tells that it is never ok without a value.
	needs bool
}

func verdictOf(c check) verdict {
	return verdict{ok: c.ok, direct: never, skipped: never, needs: c.needs}
}

// skips is true if the rule does not apply.
func (v verdict) skips() cel { return or(v.direct, v.skipped) }

// total reports whether it can't fail.
func (v verdict) total() bool {
	return v.ok == always || same(v.direct, not(v.ok)) || same(v.skipped, not(v.ok))
}

// pattern converts a pattern.
func (c *converter) pattern(p place, pattern any, field string) verdict {
	switch pattern := pattern.(type) {
	case map[string]any:
		return c.mapPattern(p, pattern, field)
	case []any:
		return c.listPattern(p, pattern, field)
	default:
		return c.scalarPattern(p, pattern, field)
	}
}

// scalarPattern converts a pattern of a scalar. If the resource has a list there, all elements must match.
func (c *converter) scalarPattern(p place, pattern any, field string) verdict {
	one := c.scalar(p, pattern, field)
	if !p.isList() {
		return verdictOf(one)
	}
	element := c.variable(p.elementName())
	each := c.scalar(at(element), pattern, field)
	one.ok = choose(isType(p.or(null), "list"), every(p.value(), element, each.ok), one.ok)
	return verdictOf(one)
}

// named is the verdict of one key of a pattern.
type named struct {
	verdict
	isAnchor bool
}

// mapPattern converts a map: first its anchors, then its other keys.
func (c *converter) mapPattern(p place, pattern map[string]any, field string) verdict {
	var anchors, others []named
	for _, key := range ordered(pattern) {
		one := c.key(p, key, pattern[key], field+"."+key)
		if one.isAnchor {
			anchors = append(anchors, one)
		} else {
			others = append(others, one)
		}
	}
	proceed, skipped := anchorsOf(anchors)
	ok, direct, before := proceed, never, proceed
	needs := false
	for _, one := range others {
		direct = or(direct, and(before, one.direct))
		skipped = or(skipped, and(before, one.skipped))
		before = and(before, one.ok)
		ok = and(ok, one.ok)
	}
	for _, one := range slices.Concat(anchors, others) {
		needs = needs || one.needs
	}
	present := p.present()
	if !needs {
		ok = and(present, ok)
	}
	return verdict{ok: ok, direct: and(present, direct), skipped: and(present, skipped), needs: true}
}

// ordered returns the keys in the order of the engine: those with anchors below them are last first, then the
// others; anchors are sorted among themselves.
func ordered(pattern map[string]any) []string {
	var front, back []string
	for _, key := range slices.Sorted(maps.Keys(pattern)) {
		if anchor.IsGlobal(anchor.Parse(key)) || hasAnchors(pattern[key]) && !isFirst(key) {
			front = append([]string{key}, front...)
		} else {
			back = append(back, key)
		}
	}
	return append(front, back...)
}

// isFirst reports whether the engine looks at a key before all that are no anchors.
func isFirst(key string) bool {
	a := anchor.Parse(key)
	return anchor.IsCondition(a) || anchor.IsExistence(a) || anchor.IsEquality(a) || anchor.IsNegation(a)
}

func hasAnchors(pattern any) bool {
	switch pattern := pattern.(type) {
	case map[string]any:
		for key, value := range pattern {
			if isFirst(key) || anchor.IsGlobal(anchor.Parse(key)) || hasAnchors(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(pattern, hasAnchors)
	}
	return false
}

// anchorsOf returns when the engine goes on behind the anchors of a map, and when they make it skip. Else it fails.
func anchorsOf(anchors []named) (proceed, skipped cel) {
	var goesOn, anyOK, allSkipped []cel
	direct, before := never, always
	for _, one := range anchors {
		direct = or(direct, and(before, one.direct))
		passes := or(one.ok, one.skipped)
		if one.total() && one.direct == never {
			passes = always
		}
		before = and(before, passes)
		goesOn = append(goesOn, passes)
		anyOK = append(anyOK, one.ok)
		allSkipped = append(allSkipped, one.skipped)
	}
	if len(anchors) == 0 {
		return always, never
	}
	proceed = and(append(goesOn, or(anyOK...))...)
	if !slices.ContainsFunc(anchors, func(one named) bool { return one.skipped != never }) {
		proceed = and(goesOn...)
	}
	if !slices.ContainsFunc(anchors, func(one named) bool { return one.direct == never || !one.total() }) {
		return proceed, not(proceed)
	}
	return proceed, or(direct, and(allSkipped...))
}

// key converts one key of a map and its pattern.
func (c *converter) key(p place, key string, pattern any, field string) named {
	a := anchor.Parse(key)
	if a == nil {
		return c.plainKey(p, key, pattern, field)
	}
	if anchor.IsAddIfNotPresent(a) {
		return named{verdictOf(check{ok: c.refuse(field, "remove it", "the anchor +() is for mutation only")}), false}
	}
	if hasWildcard(a.Key()) {
		return c.wildcardKey(p, a, pattern, field)
	}
	if strings.Contains(key, "{{") {
		return named{verdictOf(check{ok: c.refuse(field, byHand, "the key is a variable")}), false}
	}
	inner := c.member(p, a.Key())
	present := inner.present()
	if anchor.IsNegation(a) {
		return named{verdict{ok: not(present), direct: never, skipped: never}, true}
	}
	if anchor.IsExistence(a) {
		return named{c.existence(inner, pattern, field), true}
	}
	below := c.pattern(inner.assured(), pattern, field)
	switch {
	case anchor.IsCondition(a):
		if loose := c.pattern(inner, pattern, field); loose.needs {
			return named{verdict{ok: loose.ok, direct: not(loose.ok), skipped: never, needs: true}, true}
		}
		ok := and(present, below.ok)
		return named{verdict{ok: ok, direct: not(ok), skipped: never, needs: true}, true}
	case anchor.IsGlobal(a):
		ok := or(not(present), below.ok)
		return named{verdict{ok: ok, direct: and(present, not(below.ok)), skipped: never}, false}
	default: // Equality.
		if elements, ok := pattern.([]any); ok && below.skips() == never && len(elements) > 0 && isMap(elements[0]) {
			return named{verdictOf(check{ok: allOf(inner, below.ok)}), true}
		}
		return named{verdict{ok: or(not(present), below.ok), direct: and(present, below.direct), skipped: and(present, below.skipped)}, true}
	}
}

// allOf gives a condition on all elements of a list the list that is empty if there is none.
func allOf(list place, ok cel) cel {
	if !isCall(ok, operators.All) || !same(ok.AsCall().Target(), list.value()) {
		return or(not(list.present()), ok)
	}
	return method(list.or(emptyList), operators.All, ok.AsCall().Args()...)
}

func isMap(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

// member returns the place of a member of a map. Those of the resource itself are special: Kyverno rewrites
// object.spec and object.metadata for the controllers of pods.
func (c *converter) member(p place, key string) place {
	if len(p.keys) > 0 || !same(p.root, c.object) {
		return p.below(key)
	}
	return c.topLevel(key)
}

// plainKey converts a key without an anchor.
func (c *converter) plainKey(p place, key string, pattern any, field string) named {
	if strings.Contains(key, "{{") {
		return named{verdictOf(check{ok: c.refuse(field, byHand, "the key is a variable")}), false}
	}
	if hasWildcard(key) {
		return c.wildcardKey(p, anchor.New("plain", key), pattern, field)
	}
	inner := c.member(p, key)
	if pattern == "*" {
		return named{verdictOf(check{inner.present(), true}), false}
	}
	return named{c.pattern(inner, pattern, field), false}
}

// wildcardKey converts a key with wildcards, which stands for a label or an annotation that it matches.
func (c *converter) wildcardKey(p place, a anchor.Anchor, pattern any, field string) named {
	if p.last() != "labels" && p.last() != "annotations" {
		return named{verdictOf(check{ok: c.refuse(field, "name the keys", "wildcards in keys work for labels and annotations only")}), false}
	}
	if _, ok := pattern.(string); !ok {
		return named{verdictOf(check{ok: c.refuse(field, byHand, "the key has wildcards and its pattern is no text")}), false}
	}
	k := c.variable("key")
	members := p.or(emptyMap)
	matches := wildcard(k, a.Key())
	one := c.text(at(index(members, k)), pattern.(string), field)
	if pattern == "*" {
		one.ok = always
	}
	some := exists(members, k, and(matches, one.ok))
	switch a.Type() {
	case anchor.Negation:
		return named{verdict{ok: not(exists(members, k, matches)), direct: never, skipped: never}, true}
	case anchor.Equality:
		return named{verdict{ok: every(members, k, or(not(matches), one.ok)), direct: never, skipped: never}, true}
	case anchor.Condition:
		return named{verdict{ok: some, direct: not(some), skipped: never, needs: true}, true}
	case "plain":
		return named{verdict{ok: some, direct: never, skipped: never, needs: true}, false}
	default:
		return named{verdictOf(check{ok: c.refuse(field, byHand, "the anchor %s has a key with wildcards", a)}), false}
	}
}

// existence converts ^(): for each pattern there is an element that it matches.
func (c *converter) existence(inner place, pattern any, field string) verdict {
	patterns, ok := pattern.([]any)
	if !ok {
		return verdictOf(check{ok: c.refuse(field, byHand, "the anchor ^() must have a list")})
	}
	var all []cel
	for i, one := range patterns {
		element := c.variable("element")
		v := c.pattern(at(element), one, fmt.Sprintf("%s[%d]", field, i))
		all = append(all, exists(inner.value(), element, v.ok))
	}
	return verdict{ok: or(not(inner.present()), and(all...)), direct: never, skipped: never}
}

// listPattern converts a list: of its maps and scalars, the first is compared with all elements.
func (c *converter) listPattern(p place, pattern []any, field string) verdict {
	if len(pattern) == 0 {
		return verdictOf(check{ok: c.refuse(field, "give it an element", "the list is empty, which never matches")})
	}
	if _, nested := pattern[0].([]any); nested {
		return verdictOf(check{ok: c.refuse(field, byHand, "the pattern is a list in a list")})
	}
	element := c.variable(p.elementName())
	one := c.pattern(at(element), pattern[0], field+"[0]")
	present, elements := p.present(), p.value()
	if one.skips() == never {
		return verdict{ok: and(present, every(elements, element, one.ok)), direct: never, skipped: never, needs: true}
	}
	skips := one.skips()
	all := and(hasElements(elements), every(elements, element, skips))
	v := verdict{direct: never, skipped: and(present, all), needs: true}
	if one.total() {
		v.ok = and(present, not(all))
		return v
	}
	none := or(equal(method(elements, "size"), whole(0)), exists(elements, element, one.ok))
	v.ok = and(present, every(elements, element, or(one.ok, skips)), none)
	return v
}
