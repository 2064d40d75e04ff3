// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"
	"slices"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	matchutils "github.com/kyverno/kyverno/pkg/utils/match"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// The subresources of pods whose requests have the whole pod. Rules about pods apply to them, too: a change of a
// running pod must not get past a rule for new ones.
const (
	ephemeralContainers = "ephemeralcontainers"
	resize              = "resize"
)

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// admissionOf reads what the policy wants of requests, given all rules with those that Kyverno generates for workloads.
func (p *classicPolicy) admissionOf(all []kyvernov1.Rule) policy.Admission {
	spec, out := p.decoded.GetSpec(), p.Facts.Admission
	out.Enforces, out.Timeout = false, base.Seconds(spec.GetWebhookTimeoutSeconds())
	var operations []admissionv1.Operation
	var kinds []string
	for i := range all {
		if !all[i].HasValidate() { // The answer to a request must not wait for registries.
			continue
		}
		operations = append(operations, ruleOperations(&all[i])...)
		kinds = append(kinds, all[i].MatchResources.GetKinds()...)
		out.Enforces = out.Enforces || mayEnforce(spec, &all[i])
	}
	out.Closed = out.Enforces && spec.GetFailurePolicy(context.Background()) != kyvernov1.Ignore
	// A rule to enforce that only fails to be evaluated, or is not enforced after all, warns.
	out.Warns = out.Enforces || spec.EmitWarning != nil && *spec.EmitWarning
	// As in Kyverno, a rule without kinds gets no requests for itself. It is invalid, and would otherwise deny them all.
	out.Operations, out.Targets = base.Ordered(operations), requestTargets(kindTargets(kinds))
	out.Enabled = spec.AdmissionProcessingEnabled() && len(out.Targets) > 0
	return out
}

// mayEnforce reports whether there is a namespace in which failures of a rule deny.
func mayEnforce(spec *kyvernov1.Spec, rule *kyvernov1.Rule) bool {
	enforces := func(override kyvernov1.ValidationFailureActionOverride) bool { return override.Action.Enforce() }
	if slices.ContainsFunc(rule.Validation.FailureActionOverrides, enforces) ||
		slices.ContainsFunc(spec.ValidationFailureActionOverrides, enforces) {
		return true
	}
	return ownAction(spec, rule).Enforce()
}

// ownAction is what happens to failures of a rule where there is no override.
func ownAction(spec *kyvernov1.Spec, rule *kyvernov1.Rule) kyvernov1.ValidationFailureAction {
	if action := rule.Validation.FailureAction; action != nil {
		return *action
	}
	return spec.ValidationFailureAction
}

// ruleOperations returns the operations at which a rule can say something. A rule without operations is about all, but
// a pattern is never compared with an object that is being deleted, and only subresources are connected to.
func ruleOperations(rule *kyvernov1.Rule) []admissionv1.Operation {
	if !rule.HasValidate() {
		return nil
	}
	match := &rule.MatchResources
	filters := slices.Concat(match.Any, match.All)
	if len(filters) == 0 {
		filters = kyvernov1.ResourceFilters{{ResourceDescription: match.ResourceDescription}}
	}
	var out []admissionv1.Operation
	for _, filter := range filters {
		if len(filter.Operations) > 0 {
			for _, operation := range filter.Operations {
				out = append(out, admissionv1.Operation(operation))
			}
			continue
		}
		out = append(out, admissionv1.Create, admissionv1.Update, admissionv1.Delete)
		if slices.ContainsFunc(ruleTargets(*match), func(target policy.Target) bool { return target.Subresource != "" }) {
			out = append(out, admissionv1.Connect)
		}
	}
	if !checksDeletions(rule) {
		out = slices.DeleteFunc(out, func(operation admissionv1.Operation) bool { return operation == admissionv1.Delete })
	}
	return base.Ordered(out)
}

func checksDeletions(rule *kyvernov1.Rule) bool {
	switch check := rule.Validation; {
	case check == nil || rule.HasVerifyManifests() || rule.HasValidatePodSecurity():
		return false
	case rule.HasValidateCEL():
		return true
	default:
		return check.Deny != nil || check.GetPattern() == nil && check.GetAnyPattern() == nil
	}
}

// requestTargets adds the subresources that have the whole pod to targets that have pods.
func requestTargets(targets []policy.Target) []policy.Target {
	out := slices.Clone(targets)
	for _, target := range targets {
		if target.Resource == "" && target.Matches(podKind, "") {
			for _, subresource := range []string{ephemeralContainers, resize} {
				out = append(out, policy.Target{Version: podKind.Version, Kind: podKind.Kind, Subresource: subresource})
			}
		}
	}
	return base.Unique(out)
}

// matchResize is withResize for what a rule matches and excludes.
func matchResize(rule *kyvernov1.Rule) {
	for _, block := range []*kyvernov1.MatchResources{&rule.MatchResources, rule.ExcludeResources} {
		if block != nil {
			withResize(block.Any, block.All)
			block.Kinds = alsoResize(block.Kinds)
		}
	}
}

// withResize has what names pods name their resizing, too. Of ephemeral containers, the engine knows that.
func withResize(filters ...kyvernov1.ResourceFilters) {
	for _, list := range filters {
		for i := range list {
			list[i].Kinds = alsoResize(list[i].Kinds)
		}
	}
}

func alsoResize(kinds []string) []string {
	if matchutils.CheckKind(kinds, podKind, "", false) && !matchutils.CheckKind(kinds, podKind, resize, false) {
		return append(slices.Clip(kinds), podKind.Kind+"/"+resize)
	}
	return kinds
}

// readsRoles reports whether the roles of a user may make a difference. The words also occur where
// they don't; looking roles up for nothing is no harm.
func readsRoles(objects []*unstructured.Unstructured) bool {
	return base.Mentions("roles", objects) || base.Mentions("Roles", objects)
}
