// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// constraintTargets returns what the match constraints of a CEL policy name. Resources are
// evaluated as if they were being created.
func constraintTargets(constraints *admissionregistrationv1.MatchResources) []policy.Target {
	if constraints == nil {
		return nil
	}
	if len(constraints.ResourceRules) == 0 {
		return []policy.Target{{Group: base.AnyText, Version: base.AnyText, Resource: base.AnyText}}
	}
	var targets []policy.Target
	for _, rule := range constraints.ResourceRules {
		if !slices.Contains(rule.Operations, admissionregistrationv1.Create) && !slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
			continue
		}
		targets = append(targets, ruleResources(rule.Rule)...)
	}
	return targets
}

// ruleResources returns what a rule of match constraints names.
func ruleResources(rule admissionregistrationv1.Rule) []policy.Target {
	var targets []policy.Target
	for _, group := range rule.APIGroups {
		for _, version := range rule.APIVersions {
			for _, resource := range rule.Resources {
				resource, subresource, _ := strings.Cut(resource, "/")
				targets = append(targets, base.WithSubresource(policy.Target{Group: group, Version: version, Resource: resource}, subresource)...)
			}
		}
	}
	return targets
}
