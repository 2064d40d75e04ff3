// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"slices"

	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	vpolengine "github.com/kyverno/kyverno/pkg/cel/policies/vpol/engine"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// celAdmission reads what a CEL policy wants of requests, before policies are generated of it.
func celAdmission(spec *policiesv1beta1.ValidatingPolicySpec) policy.Admission {
	actions := spec.ValidationActions()
	out := policy.Admission{
		Enabled:  spec.AdmissionEnabled(),
		Enforces: slices.Contains(actions, admissionregistrationv1.Deny), Warns: slices.Contains(actions, admissionregistrationv1.Warn),
	}
	out.Closed = out.Enforces && (spec.FailurePolicy == nil || *spec.FailurePolicy != admissionregistrationv1.Ignore)
	if webhook := spec.WebhookConfiguration; webhook != nil {
		out.Timeout = base.Seconds(webhook.TimeoutSeconds)
	}
	out.Operations, out.Targets = constraintOperations(spec.MatchConstraints), base.Unique(requestedConstraints(spec.MatchConstraints))
	return out
}

// widen adds what the compiled policies are about.
func widen(admission *policy.Admission, policies []vpolengine.Policy) {
	for _, one := range policies {
		constraints := one.CompiledPolicy.MatchConstraints()
		admission.Operations = base.Ordered(append(admission.Operations, constraintOperations(constraints)...))
		admission.Targets = base.Unique(append(admission.Targets, requestedConstraints(constraints)...))
	}
}

func constraintOperations(constraints *admissionregistrationv1.MatchResources) []admissionv1.Operation {
	if constraints == nil {
		return nil
	}
	var out []admissionv1.Operation
	for _, rule := range constraints.ResourceRules {
		if slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
			return slices.Clone(base.AllOperations)
		}
		for _, operation := range rule.Operations {
			out = append(out, admissionv1.Operation(operation))
		}
	}
	return base.Ordered(out)
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
