// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"slices"
	"strings"
	"time"

	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/ext/wildcard"
	vpolengine "github.com/kyverno/kyverno/pkg/cel/policies/vpol/engine"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// ephemeralContainers is the subresource of pods that rules about pods are about, too.
const ephemeralContainers = "ephemeralcontainers"

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// allOperations has them in the order in which [policy.Admission] names them.
var allOperations = []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect}

// ordered returns operations without those that occur twice.
func ordered(operations []admissionv1.Operation) []admissionv1.Operation {
	var out []admissionv1.Operation
	for _, operation := range allOperations {
		if slices.Contains(operations, operation) {
			out = append(out, operation)
		}
	}
	return out
}

// admissionOf reads what the policy wants of requests, given all rules with those that Kyverno
// generates for workloads.
func (p *classicPolicy) admissionOf(all []kyvernov1.Rule) policy.Admission {
	spec, out := p.decoded.GetSpec(), p.admission
	out.Enforces, out.Timeout = false, seconds(spec.GetWebhookTimeoutSeconds())
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
	// As in Kyverno, a rule without kinds gets no requests for itself. It is invalid, and would
	// otherwise deny them all.
	out.Operations, out.Targets = ordered(operations), requestTargets(kindTargets(kinds))
	out.Enabled = spec.AdmissionProcessingEnabled() && len(out.Targets) > 0
	return out
}

func seconds(number *int32) time.Duration {
	if number == nil {
		return 0
	}
	return time.Duration(*number) * time.Second
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

// ruleOperations returns the operations at which a rule can say something. A rule that names none
// is about all, but a pattern is never compared with what is being deleted, and only subresources
// are connected to.
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
	return ordered(out)
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

// requestTargets adds the subresource for ephemeral containers to targets that have pods.
func requestTargets(targets []policy.Target) []policy.Target {
	out := slices.Clone(targets)
	for _, target := range targets {
		if target.Resource == "" && target.Matches(podKind, "") {
			out = append(out, policy.Target{Version: podKind.Version, Kind: podKind.Kind, Subresource: ephemeralContainers})
		}
	}
	return unique(out)
}

// requested reports whether targets have a resource, or its subresource.
func requested(targets []policy.Target, kind schema.GroupVersionKind, resource, subresource string) bool {
	return slices.ContainsFunc(targets, func(target policy.Target) bool {
		return target.MatchesResource(kind, resource) && wildcard.Match(target.Subresource, subresource)
	})
}

// readsRoles reports whether the roles of a user may make a difference. The words also occur where
// they don't; looking roles up for nothing is no harm.
func readsRoles(objects []*unstructured.Unstructured) bool {
	return mentions("roles", objects) || mentions("Roles", objects)
}

// celAdmission reads what a CEL policy wants of requests, before policies are generated of it.
func celAdmission(spec *policiesv1beta1.ValidatingPolicySpec) policy.Admission {
	actions := spec.ValidationActions()
	out := policy.Admission{
		Enabled:  spec.AdmissionEnabled(),
		Enforces: slices.Contains(actions, admissionregistrationv1.Deny), Warns: slices.Contains(actions, admissionregistrationv1.Warn),
	}
	out.Closed = out.Enforces && (spec.FailurePolicy == nil || *spec.FailurePolicy != admissionregistrationv1.Ignore)
	if webhook := spec.WebhookConfiguration; webhook != nil {
		out.Timeout = seconds(webhook.TimeoutSeconds)
	}
	out.Operations, out.Targets = constraintOperations(spec.MatchConstraints), unique(requestedConstraints(spec.MatchConstraints))
	return out
}

// widen adds what the compiled policies are about.
func widen(admission *policy.Admission, policies []vpolengine.Policy) {
	for _, one := range policies {
		constraints := one.CompiledPolicy.MatchConstraints()
		admission.Operations = ordered(append(admission.Operations, constraintOperations(constraints)...))
		admission.Targets = unique(append(admission.Targets, requestedConstraints(constraints)...))
	}
}

func constraintOperations(constraints *admissionregistrationv1.MatchResources) []admissionv1.Operation {
	if constraints == nil {
		return nil
	}
	var out []admissionv1.Operation
	for _, rule := range constraints.ResourceRules {
		if slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
			return slices.Clone(allOperations)
		}
		for _, operation := range rule.Operations {
			out = append(out, admissionv1.Operation(operation))
		}
	}
	return ordered(out)
}

// requestedConstraints returns what match constraints name, whatever the operation.
func requestedConstraints(constraints *admissionregistrationv1.MatchResources) []policy.Target {
	if constraints == nil {
		return nil
	}
	var out []policy.Target
	for _, rule := range constraints.ResourceRules {
		out = append(out, ruleResources(rule.Rule)...)
	}
	return out
}

// rawAdmission reads the same of a policy of any kind that may not be readable otherwise. Of its
// operations it assumes those that come with every change; deletions are never refused for a policy
// that nobody can read.
func rawAdmission(object *unstructured.Unstructured, enabled bool) policy.Admission {
	spec, _ := object.Object["spec"].(map[string]any)
	out := policy.Admission{Enabled: enabled, Operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update}}
	failurePolicy := spec["failurePolicy"]
	if object.GroupVersionKind().Group == policy.CELGroup {
		actions, found := spec["validationActions"].([]any)
		out.Enforces = !found || len(actions) == 0 || slices.Contains(actions, any(string(admissionregistrationv1.Deny)))
		out.Warns = slices.Contains(actions, any(string(admissionregistrationv1.Warn)))
	} else {
		out.Enforces = rawEnforces(spec)
		out.Warns = out.Enforces || spec["emitWarning"] == true
		if webhook, ok := spec["webhookConfiguration"].(map[string]any); ok && webhook["failurePolicy"] != nil {
			failurePolicy = webhook["failurePolicy"]
		}
	}
	out.Closed = out.Enforces && failurePolicy != string(kyvernov1.Ignore)
	return out
}

// rawEnforces finds a word for enforcement where a policy may have it.
func rawEnforces(value any) bool {
	enforce := func(value any) bool {
		text, _ := value.(string)
		return strings.EqualFold(text, string(kyvernov1.Enforce))
	}
	switch typed := value.(type) {
	case []any:
		return slices.ContainsFunc(typed, rawEnforces)
	case map[string]any:
		for key, item := range typed {
			switch key {
			case "validationFailureAction", "failureAction", "action":
				if enforce(item) {
					return true
				}
			case "rules", "validate", "validationFailureActionOverrides", "failureActionOverrides":
				if rawEnforces(item) {
					return true
				}
			}
		}
	}
	return false
}
