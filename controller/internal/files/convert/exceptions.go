// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"
	"time"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Exception converts a PolicyException of kyverno.io for the policies that were converted. It is an error if the
// exception names a rule that was not.
func Exception(object *unstructured.Unstructured, converted []Result, options Options) (*unstructured.Unstructured, error) {
	var decoded kyvernov2.PolicyException
	if err := recoded(object.Object, &decoded); err != nil {
		return nil, refuse("", "correct it", "the exception can't be read: %v", err)
	}
	if len(decoded.Spec.PodSecurity) > 0 {
		return nil, refuse("spec.podSecurity", byHand, "exceptions from single controls have no counterpart")
	}
	refs, kinds, err := references(decoded.Spec.Exceptions, converted)
	if err != nil {
		return nil, err
	}
	c := newConverter(options)
	condition := c.exceptionCondition(&decoded)
	if c.err != nil {
		return nil, c.err
	}
	if len(kinds) > 0 {
		condition = and(oneOf(ident("object.kind"), kinds), condition)
	}
	spec := map[string]any{"policyRefs": refs}
	if condition != always {
		spec["matchConditions"] = []any{map[string]any{"name": "match", "expression": lines(condition)}}
	}
	if at := policy.ExpiryOf(object); !at.IsZero() {
		spec["expiresAt"] = at.Format(time.RFC3339)
	}
	return newObject(object, policy.Exception, object.GetName(), spec), nil
}

// covered are the kinds for which an exception names a rule or one that is generated of it; nil for all.
type covered []string

// references finds the policies that the rules of an exception became, and for which kinds they count.
func references(exceptions []kyvernov2.Exception, converted []Result) ([]any, covered, error) {
	var refs []any
	var kinds covered
	for i, exception := range exceptions {
		field := fmt.Sprintf("spec.exceptions[%d]", i)
		at := slices.IndexFunc(converted, func(r Result) bool { return r.Old.ResultName() == exception.PolicyName })
		if at < 0 {
			return nil, nil, refuse(field+".policyName", "convert it together with its policy", "the policy %s is not among those that are converted", exception.PolicyName)
		}
		if converted[at].Err != nil {
			return nil, nil, refuse(field+".policyName", "", "the policy %s was not converted", exception.PolicyName)
		}
		for _, rule := range converted[at].Rules {
			named, of := coverage(exception, rule)
			switch {
			case !named:
				continue
			case rule.Policy == nil:
				return nil, nil, refuse(field+".ruleNames", "", "the rule %s was not converted", rule.Name)
			case len(refs) > 0 && !slices.Equal(kinds, of):
				return nil, nil, refuse(field+".ruleNames", "make an exception for each", "it names rules with and without those that are generated of them")
			}
			kinds = of
			refs = append(refs, map[string]any{"name": rule.Policy.GetName(), "kind": rule.Policy.GetKind()})
		}
	}
	if len(refs) == 0 {
		return nil, nil, refuse("spec.exceptions", "remove it", "it names no rule that there is")
	}
	return refs, kinds, nil
}

// coverage reports whether an exception names a rule, and for which kinds.
func coverage(exception kyvernov2.Exception, rule Rule) (named bool, kinds covered) {
	of := []covered{{"Pod"}, {"DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"}, {"CronJob"}}
	missing := false
	for i, name := range GeneratedNames(rule.Name) {
		switch {
		case exception.Contains(exception.PolicyName, name):
			named = true
			kinds = append(kinds, of[i]...)
		case rule.Generates:
			missing = true
		}
	}
	if !missing {
		return named, nil
	}
	return named, kinds
}

// exceptionCondition says for which resources an exception counts.
func (c *converter) exceptionCondition(decoded *kyvernov2.PolicyException) cel {
	var match kyvernov1.MatchResources
	if err := recoded(decoded.Spec.Match, &match); err != nil {
		return c.refuse("spec.match", "correct it", "it can't be read: %v", err)
	}
	// Every filter is about the kinds that it names, and the exception sees those of the policy.
	c.kinds = []string{"*"}
	condition := c.block(match, c.kinds, "spec.match")
	if decoded.Spec.Conditions == nil {
		return condition
	}
	var more kyvernov1.AnyAllConditions
	if err := recoded(decoded.Spec.Conditions, &more); err != nil {
		return c.refuse("spec.conditions", "correct it", "they can't be read: %v", err)
	}
	return and(condition, c.anyAll(more, scope{}, "spec.conditions").ok)
}
