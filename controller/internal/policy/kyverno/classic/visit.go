// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// visitor goes through a rule and may change it.
type visitor interface {
	// enter gets what a rule, or a step of a loop, loads. What it returns is called after all within.
	enter(entries []kyvernov1.ContextEntry) (leave func())
	// list gets conditions, which deny if they are met, or are to be met for the rule to apply.
	list(conditions []kyvernov1.Condition, denies bool)
	// check gets what has patterns.
	check(check checked)
}

// checked is the validation of a rule, or a step of a loop.
type checked interface {
	GetPattern() apiextensions.JSON
	SetPattern(pattern apiextensions.JSON)
	GetAnyPattern() apiextensions.JSON
	SetAnyPattern(patterns apiextensions.JSON)
}

// visit calls a visitor for a rule, which is a copy of its own.
func visit(rule *kyvernov1.Rule, v visitor) {
	leave := v.enter(rule.Context)
	defer leave()
	visitConditions(rule.RawAnyAllConditions, v, false)
	if rule.Validation == nil {
		return
	}
	v.check(rule.Validation)
	if rule.Validation.Deny != nil {
		visitConditions(rule.Validation.Deny.RawAnyAllConditions, v, true)
	}
	visitLoops(rule.Validation.ForEachValidation, v)
}

func visitLoops(loops []kyvernov1.ForEachValidation, v visitor) {
	for i := range loops {
		loop := &loops[i]
		leave := v.enter(loop.Context)
		v.check(loop)
		if conditions := loop.AnyAllConditions; conditions != nil {
			v.list(conditions.AnyConditions, false)
			v.list(conditions.AllConditions, false)
		}
		if loop.Deny != nil {
			visitConditions(loop.Deny.RawAnyAllConditions, v, true)
		}
		if wrapped := loop.ForEachValidation; wrapped != nil {
			wrapped.Items = copies(wrapped.Items)
			visitLoops(wrapped.Items, v)
		}
		leave()
	}
}

// visitConditions copies before it writes: the deep copies of Kyverno's wrappers are not deep.
func visitConditions(wrapped *kyvernov1.ConditionsWrapper, v visitor, denies bool) {
	if wrapped == nil {
		return
	}
	switch typed := wrapped.Conditions.(type) {
	case kyvernov1.AnyAllConditions:
		typed = *typed.DeepCopy()
		v.list(typed.AnyConditions, denies)
		v.list(typed.AllConditions, denies)
		wrapped.Conditions = typed
	case []kyvernov1.Condition:
		typed = copies(typed)
		v.list(typed, denies)
		wrapped.Conditions = typed
	}
}

func copies[T any, P interface {
	*T
	DeepCopyInto(into *T)
}](items []T) []T {
	out := make([]T, len(items))
	for i := range items {
		P(&items[i]).DeepCopyInto(&out[i])
	}
	return out
}
