// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"github.com/kyverno/kyverno/api/kyverno"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/engine/anchor"
)

// checked is what a rule checks, in CEL.
type checked struct {
	// applies is false where the rule is skipped.
	applies cel
	// ok is what must be true where it applies.
	ok cel
}

// step is what a rule or a step of a loop checks.
type step struct {
	deny                *kyvernov1.Deny
	pattern, anyPattern any
	loops               []kyvernov1.ForEachValidation
}

// check converts a step for the value at a place. Loops in it have the nesting.
func (c *converter) check(p place, one step, s scope, nesting int, field string) checked {
	switch {
	case one.deny != nil:
		return c.deny(one.deny, s, field+".deny.conditions")
	case one.pattern != nil:
		return c.patternCheck(p, []any{one.pattern}, field+".pattern")
	case one.anyPattern != nil:
		patterns, ok := one.anyPattern.([]any)
		if !ok {
			return checked{always, c.refuse(field+".anyPattern", "correct it", "it must be a list")}
		}
		return c.patternCheck(p, patterns, field+".anyPattern")
	case len(one.loops) > 0:
		return c.loops(one.loops, s, nesting, field+".foreach")
	default:
		return checked{always, c.refuse(field, "give it a check, or remove the rule or the loop", "it checks nothing")}
	}
}

func (c *converter) deny(deny *kyvernov1.Deny, s scope, field string) checked {
	if deny.GetAnyAllConditions() == nil {
		return checked{always, never} // It denies everything.
	}
	denied := c.conditions(deny.GetAnyAllConditions(), s, field)
	return checked{always, not(denied.ok)}
}

// patternCheck converts patterns of which one must match.
func (c *converter) patternCheck(p place, patterns []any, field string) checked {
	anyOK, allSkip := never, always
	for i, pattern := range patterns {
		path := field
		if len(patterns) > 1 {
			path = fmt.Sprintf("%s[%d]", field, i)
		}
		c.aboutPods(p, pattern, path)
		v := c.pattern(p, pattern, path)
		anyOK = or(anyOK, v.ok)
		allSkip = and(allSkip, v.skips())
	}
	if len(patterns) == 0 {
		return checked{always, c.refuse(field, "give it a pattern", "it is empty")}
	}
	applies := not(allSkip)
	if len(patterns) > 1 && allSkip != never {
		applies = or(anyOK, applies)
	}
	return checked{applies, anyOK}
}

// aboutPods refuses patterns that Kyverno can't rewrite for the controllers of pods.
func (c *converter) aboutPods(p place, pattern any, field string) {
	fields, _ := pattern.(map[string]any)
	if !c.autogen || !same(p.root, c.object) {
		return
	}
	for key := range fields {
		name := key
		if a := anchor.Parse(key); a != nil {
			name = a.Key()
		}
		if name != "spec" && name != "metadata" {
			c.refuse(field+"."+key, "set the annotation "+kyverno.AnnotationAutogenControllers+" to none", "the rule is also about the controllers of pods, and their templates have no %s", name)
		}
	}
}

// loops converts foreach. A loop that has nothing to do makes the rule skip.
func (c *converter) loops(loops []kyvernov1.ForEachValidation, s scope, nesting int, field string) checked {
	allOK, applies := always, never
	for i := range loops {
		one := c.loop(&loops[i], s, nesting, fmt.Sprintf("%s[%d]", field, i))
		allOK = and(allOK, one.ok)
		applies = or(applies, one.applies)
	}
	return checked{applies, allOK}
}

func (c *converter) loop(loop *kyvernov1.ForEachValidation, s scope, nesting int, field string) checked {
	if loop.ElementScope != nil && !*loop.ElementScope {
		return checked{always, c.refuse(field+".elementScope", byHand, "the pattern of a loop is compared with the whole resource")}
	}
	elements := c.jmespath(loop.List, s, field+".list")
	name := "element"
	if elements.path != nil {
		name = elements.path.elementName()
	}
	one := c.variable(name)
	element := placed(at(one))
	inner := s.with(map[string]term{"element": element, fmt.Sprintf("element%d", nesting): element})
	inner.names = c.context(loop.Context, inner, field+".context")
	before := always
	if loop.AnyAllConditions != nil {
		preconditions := c.anyAll(*loop.AnyAllConditions, inner, field+".preconditions")
		before = and(preconditions.guard, preconditions.ok)
	}
	body := c.check(*element.path, step{loop.Deny, loop.GetPattern(), loop.GetAnyPattern(), loop.GetForEachValidation()}, inner, nesting+1, field)
	when := and(before, body.applies)
	list := listOf(elements)
	applies := exists(list, one, when)
	if when == always {
		applies = hasElements(list)
	}
	return checked{applies, every(list, one, or(not(when), body.ok))}
}

// listOf returns the elements of a loop: what is no list is the only one.
func listOf(elements term) cel {
	if elements.kind == listKind || elements.path != nil && elements.path.isList() {
		return elements.elements()
	}
	return asList(elements.or(emptyList))
}
