// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds of policies that only Kyverno's own controllers evaluate.
const (
	GeneratingPolicy           = "GeneratingPolicy"
	NamespacedGeneratingPolicy = "NamespacedGeneratingPolicy"
)

// KyvernoKinds lists the kinds of policies that only Kyverno's own controllers evaluate, with the plural names
// of their resources. Their results can be adopted.
func KyvernoKinds() map[schema.GroupKind]string {
	return map[schema.GroupKind]string{
		{Group: CELGroup, Kind: GeneratingPolicy}:           "generatingpolicies",
		{Group: CELGroup, Kind: NamespacedGeneratingPolicy}: "namespacedgeneratingpolicies",
	}
}

// OnlyKyverno reports whether a kind is one of [KyvernoKinds].
func OnlyKyverno(kind string) bool {
	return KyvernoKinds()[schema.GroupKind{Group: CELGroup, Kind: kind}] != ""
}

// Coverage says of which rules of a policy its engine gives results.
type Coverage struct {
	// None tells that the engine gives no results of the policy.
	None bool
	// Rules has all rules, including generated ones, by the names that they have in results, and whether the
	// engine evaluates them. It is nil for policies whose results don't tell rules apart.
	Rules map[string]bool
}

// CoverageOf returns the coverage of a policy. Without anything to say about it, everything is evaluated.
func CoverageOf(p Policy) Coverage {
	if says, ok := p.(interface{ Coverage() Coverage }); ok {
		return says.Coverage()
	}
	return Coverage{}
}

// Rules is a set of rules of a policy. The zero value is empty.
type Rules struct {
	every bool
	names map[string]bool
}

// Adoptable returns the rules of a policy whose results nobody but Kyverno's own controllers gives. here tells
// whether the policy is evaluated at all by this program.
func Adoptable(p Policy, here bool) Rules {
	coverage := CoverageOf(p)
	if coverage.None || !here && coverage.Rules == nil {
		return Rules{every: true}
	}
	found := Rules{}
	for name, evaluated := range coverage.Rules {
		if here && evaluated {
			continue
		}
		if found.names == nil {
			found.names = map[string]bool{}
		}
		found.names[name] = true
	}
	return found
}

// Empty reports whether the set has no rule.
func (r Rules) Empty() bool { return !r.every && len(r.names) == 0 }

// Every reports whether the set has whatever results name: they don't tell rules apart.
func (r Rules) Every() bool { return r.every }

// Has reports whether the set has a rule.
func (r Rules) Has(rule string) bool { return r.every || r.names[rule] }

// Equal reports whether two sets have the same rules.
func (r Rules) Equal(other Rules) bool {
	return r.every == other.every && maps.Equal(r.names, other.names)
}
