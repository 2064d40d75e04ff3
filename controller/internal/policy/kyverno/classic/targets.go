// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kubeutils "github.com/kyverno/kyverno/pkg/utils/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// everything is what a match block without kinds names.
func everything() policy.Target {
	return policy.Target{Group: base.AnyText, Version: base.AnyText, Kind: base.AnyText}
}

// ruleTargets returns what a rule's match block can match. What its exclude block takes away is left to the engine.
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
		targets = append(targets, base.WithSubresource(policy.Target{Group: group, Version: version, Kind: kind}, subresource)...)
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
