// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// validation is the program of a ValidatingAdmissionPolicy.
type validation struct {
	validator  validating.Validator
	interfaces admission.ObjectInterfaces
}

func (v *validation) apply(ctx context.Context, r request, params []runtime.Object) (policy.Result, bool, error) {
	versioned, err := admission.NewVersionedAttributes(r.attributes, r.kind, v.interfaces)
	if err != nil {
		return policy.Result{}, false, fmt.Errorf("show the resource to CEL: %w", err)
	}
	var all validating.ValidateResult
	for _, param := range params {
		one := v.validator.Validate(ctx, r.resource, versioned, param, r.namespace, celconfig.RuntimeCELCostBudget, nil)
		all.Decisions = append(all.Decisions, one.Decisions...)
		all.AuditAnnotations = append(all.AuditAnnotations, one.AuditAnnotations...)
		// What has no validations decides nothing, and is no nil.
		if one.Decisions != nil && all.Decisions == nil {
			all.Decisions = []validating.PolicyDecision{}
		}
	}
	return conclude(&all), all.Decisions != nil, nil
}

// maxAuditAnnotation is how many bytes of an audit annotation the API server writes.
const maxAuditAnnotation = 10 << 10

// conclude makes one result of all decisions of a binding. Its properties are the audit annotations.
func conclude(all *validating.ValidateResult) policy.Result {
	result := policy.Result{Outcome: report.OutcomePass, Message: "all expressions are met"}
	var failed, errs []string
	for i := range all.Decisions {
		switch decision := &all.Decisions[i]; {
		case decision.Evaluation == validating.EvalError:
			errs = appendNew(errs, decision.Message)
		case decision.Action == validating.ActionDeny:
			failed = appendNew(failed, decision.Message)
		}
	}
	annotations := map[string][]string{}
	for i := range all.AuditAnnotations {
		switch annotation := &all.AuditAnnotations[i]; annotation.Action { //nolint:exhaustive // The rest is left out.
		case validating.AuditAnnotationActionPublish:
			value := annotation.Value
			if len(value) > maxAuditAnnotation {
				value = strings.ToValidUTF8(value[:maxAuditAnnotation], "")
			}
			annotations[annotation.Key] = appendNew(annotations[annotation.Key], value)
		case validating.AuditAnnotationActionError:
			errs = appendNew(errs, annotation.Error)
		}
	}
	for key, values := range annotations {
		if result.Properties == nil {
			result.Properties = map[string]string{}
		}
		result.Properties[key] = strings.Join(values, ", ")
	}
	switch {
	case len(failed) > 0:
		result.Outcome, result.Message = report.OutcomeFail, strings.Join(failed, "; ")
	case len(errs) > 0:
		result.Outcome, result.Message = report.OutcomeError, strings.Join(errs, "; ")
	}
	return result
}

func appendNew(texts []string, text string) []string {
	if slices.Contains(texts, text) {
		return texts
	}
	return append(texts, text)
}
