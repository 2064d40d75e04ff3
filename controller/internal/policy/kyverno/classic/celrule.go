// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/admissionpolicy"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
)

// celRule is a rule of a classic policy whose check is in CEL, compiled once. Kyverno's engine compiles it in each
// evaluation, which is 98 % of the work. What surrounds the check (context, preconditions, parameters, exceptions) is
// not done here: rules with more than CEL are the engine's, see [soleCEL].
type celRule struct {
	name       string
	validator  validating.Validator
	interfaces admission.ObjectInterfaces
}

// newCELRule compiles the rule with Kyverno's compiler. The error says what does not compile.
func newCELRule(rule *kyvernov1.Rule, kind, name string) (*celRule, error) {
	check := rule.Validation.CEL
	compiler, err := admissionpolicy.NewCompiler(rule.CELPreconditions, check.Variables)
	if err != nil {
		return nil, fmt.Errorf("rule %s: cannot prepare CEL: %w", rule.Name, err)
	}
	compiler.WithValidations(check.Expressions)
	compiler.WithAuditAnnotations(check.AuditAnnotations)
	all := cel.OptionalVariableDeclarations{HasParams: check.HasParam(), HasAuthorizer: true}
	messages := cel.OptionalVariableDeclarations{HasParams: check.HasParam()}
	// The other expressions refer to the variables.
	compiler.CompileVariables(all)
	validations, conditions := compiler.CompileValidations(all), compiler.CompileMatchConditions(all)
	message, annotations := compiler.CompileMessageExpressions(messages), compiler.CompileAuditAnnotationsExpressions(all)
	// A message or an annotation that does not compile is no reason not to check: the validator has
	// something else to say then.
	if err := errors.Join(append(validations.CompilationErrors(), conditions.CompilationErrors()...)...); err != nil {
		return nil, fmt.Errorf("rule %s: %w", rule.Name, err)
	}
	matcher := matchconditions.NewMatcher(conditions, nil, kind, "", name)
	return &celRule{
		name:       rule.Name,
		validator:  validating.NewValidator(validations, matcher, annotations, message, nil, nil),
		interfaces: admission.NewObjectInterfacesFromScheme(runtime.NewScheme()),
	}, nil
}

// soleCEL reports whether there is nothing to a rule but CEL without parameters and without questions
// about authorization.
func soleCEL(rule *kyvernov1.Rule) bool {
	if rule.Validation == nil || !rule.HasValidateCEL() || rule.HasVerifyManifests() || rule.HasValidatePodSecurity() {
		return false
	}
	if rule.Validation.CEL.HasParam() || len(rule.Context) > 0 || rule.GetAnyAllConditions() != nil || len(rule.ReportProperties) > 0 {
		return false
	}
	data, err := json.Marshal(rule)
	return err == nil && !bytes.Contains(data, []byte("authorizer"))
}

// evaluate returns the result for a subject that the rule matches.
func (r *celRule) evaluate(ctx context.Context, subject policy.Subject) (policy.Result, error) {
	object := subject.Object
	user := admissionpolicy.NewUser(authenticationv1.UserInfo{})
	// Kyverno's scan does not tell the resource either.
	var resource schema.GroupVersionResource
	return r.evaluateFor(ctx, admission.NewAttributesRecord(
		object, nil, object.GroupVersionKind(), object.GetNamespace(), object.GetName(), resource, "", admission.Create, nil, false, &user,
	), subject.Namespace())
}

// evaluateFor is the same for any request.
func (r *celRule) evaluateFor(ctx context.Context, attributes admission.Attributes, namespace *corev1.Namespace) (policy.Result, error) {
	versioned, err := admission.NewVersionedAttributes(attributes, attributes.GetKind(), r.interfaces)
	if err != nil {
		return policy.Result{}, fmt.Errorf("cannot show the resource to CEL: %w", err)
	}
	ctx, used := meter.With(ctx)
	validated := r.validator.Validate(ctx, attributes.GetResource(), versioned, nil, namespace, celconfig.RuntimeCELCostBudget, nil)
	if used.Spent != nil {
		return policy.Result{}, fmt.Errorf("rule %s: %w", r.name, used.Spent)
	}
	return r.conclude(validated), nil
}

// conclude words what the validator says as Kyverno does: the first expression that is not met
// decides, and one that can't be computed is not met.
func (r *celRule) conclude(validated validating.ValidateResult) policy.Result {
	if validated.Decisions == nil && validated.AuditAnnotations == nil {
		return policy.Result{Rule: r.name, Outcome: report.OutcomeSkip, Message: "cel preconditions not met"}
	}
	for i := range validated.Decisions {
		decision := &validated.Decisions[i]
		switch {
		case decision.Action == validating.ActionDeny:
			return policy.Result{Rule: r.name, Outcome: report.OutcomeFail, Message: decision.Message}
		case decision.Evaluation == validating.EvalError:
			return policy.Result{Rule: r.name, Outcome: report.OutcomeError, Message: decision.Message}
		}
	}
	return policy.Result{Rule: r.name, Outcome: report.OutcomePass, Message: fmt.Sprintf("Validation rule '%s' passed.", r.name)}
}
