// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"fmt"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// classicUnknownFields returns the paths of the fields in the spec of a policy that Kyverno's types don't
// have, such as those of a newer version: the engine goes by the others alone. object is what
// translate has left. A field of a wrong type is no matter of this.
func unknownFields(object *unstructured.Unstructured) []string {
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok {
		return nil
	}
	paths := base.Strangers("spec", spec, &kyvernov1.Spec{})
	rules, _ := spec["rules"].([]any)
	for i, item := range rules {
		if rule, ok := item.(map[string]any); ok {
			paths = append(paths, strangersOfRule(fmt.Sprintf("spec.rules[%d]", i), rule)...)
		}
	}
	return paths
}

// strangersOfRule looks into the fields of a rule that read their JSON themselves.
func strangersOfRule(path string, rule map[string]any) []string {
	validation, _ := rule["validate"].(map[string]any)
	return append(strangersOfConditions(path+".preconditions", rule["preconditions"]), strangersOfCheck(path+".validate", validation)...)
}

// strangersOfCheck is for what a rule and each step of a loop have.
func strangersOfCheck(path string, check map[string]any) []string {
	deny, _ := check["deny"].(map[string]any)
	paths := strangersOfConditions(path+".deny.conditions", deny["conditions"])
	loops, _ := check["foreach"].([]any)
	for i, item := range loops {
		if loop, ok := item.(map[string]any); ok {
			below := fmt.Sprintf("%s.foreach[%d]", path, i)
			paths = append(paths, base.Strangers(below, loop, &kyvernov1.ForEachValidation{})...)
			paths = append(paths, strangersOfCheck(below, loop)...)
		}
	}
	return paths
}

// strangersOfConditions takes both forms: a list, and any and all.
func strangersOfConditions(path string, conditions any) []string {
	switch conditions := conditions.(type) {
	case map[string]any:
		return base.Strangers(path, conditions, &kyvernov1.AnyAllConditions{})
	case []any:
		var paths []string
		for i, item := range conditions {
			if condition, ok := item.(map[string]any); ok {
				paths = append(paths, base.Strangers(fmt.Sprintf("%s[%d]", path, i), condition, &kyvernov1.Condition{})...)
			}
		}
		return paths
	default:
		return nil
	}
}
