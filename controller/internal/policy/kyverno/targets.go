// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"cmp"
	"slices"
	"strings"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kubeutils "github.com/kyverno/kyverno/pkg/utils/kube"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
)

// anyText is the wildcard in kinds, groups, versions, resources and subresources.
const anyText = "*"

// everything is what a match block without kinds names.
func everything() policy.Target {
	return policy.Target{Group: anyText, Version: anyText, Kind: anyText}
}

// ruleTargets returns what a rule's match block can match. What its exclude block takes away is
// left to the engine.
func ruleTargets(match kyvernov1.MatchResources) []policy.Target {
	var kinds []string
	switch {
	case len(match.Any) > 0:
		for _, filter := range match.Any {
			if len(filter.Kinds) == 0 {
				return []policy.Target{everything()}
			}
			kinds = append(kinds, filter.Kinds...)
		}
	case len(match.All) > 0:
		// A filter without kinds narrows what the others name.
		for _, filter := range match.All {
			kinds = append(kinds, filter.Kinds...)
		}
	default:
		kinds = match.Kinds
	}
	if len(kinds) == 0 {
		return []policy.Target{everything()}
	}
	return kindTargets(kinds)
}

// kindTargets reads kinds as policies write them, from "Pod" to "apps/v1/Deployment/scale".
func kindTargets(kinds []string) []policy.Target {
	targets := make([]policy.Target, 0, len(kinds))
	for _, text := range kinds {
		group, version, kind, subresource := kubeutils.ParseKindSelector(text)
		if kind == "" {
			continue
		}
		targets = append(targets, withSubresource(policy.Target{Group: group, Version: version, Kind: kind}, subresource)...)
	}
	return targets
}

// withSubresource adds the object itself if the subresource is any: for Kyverno and for the API
// server "*" includes it.
func withSubresource(target policy.Target, subresource string) []policy.Target {
	with := target
	with.Subresource = subresource
	if subresource == anyText {
		return []policy.Target{target, with}
	}
	return []policy.Target{with}
}

// constraintTargets returns what the match constraints of a CEL policy name. Resources are
// evaluated as if they were being created.
func constraintTargets(constraints *admissionregistrationv1.MatchResources) []policy.Target {
	if constraints == nil {
		return nil
	}
	if len(constraints.ResourceRules) == 0 {
		return []policy.Target{{Group: anyText, Version: anyText, Resource: anyText}}
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
				targets = append(targets, withSubresource(policy.Target{Group: group, Version: version, Resource: resource}, subresource)...)
			}
		}
	}
	return targets
}

// rawKinds finds the kinds of match blocks in a policy that can't be decoded.
func rawKinds(object *unstructured.Unstructured) []string {
	var kinds []string
	add := func(filter any) {
		block, _ := filter.(map[string]any)
		found, _, err := unstructured.NestedStringSlice(block, "resources", "kinds")
		if err == nil {
			kinds = append(kinds, found...)
		}
	}
	rules, _, err := unstructured.NestedSlice(object.Object, "spec", "rules")
	if err != nil {
		return nil
	}
	for _, item := range rules {
		rule, _ := item.(map[string]any)
		match, _ := rule["match"].(map[string]any)
		add(match)
		for _, key := range []string{"any", "all"} {
			filters, _ := match[key].([]any)
			for _, filter := range filters {
				add(filter)
			}
		}
	}
	return kinds
}

// unique sorts targets and drops those that occur twice.
func unique(targets []policy.Target) []policy.Target {
	slices.SortFunc(targets, func(a, b policy.Target) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Subresource, b.Subresource))
	})
	return slices.Compact(targets)
}
