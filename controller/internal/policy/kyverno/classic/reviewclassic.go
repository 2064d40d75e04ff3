// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"
	"fmt"
	"slices"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/ext/wildcard"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	matchutils "github.com/kyverno/kyverno/pkg/utils/match"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

func (p *classicPolicy) Review(ctx context.Context, request *policy.Request) ([]policy.Verdict, error) {
	if !p.InScopeOf(request) || request.Subject() == nil || !slices.Contains(p.Facts.Admission.Operations, request.Operation) {
		return nil, nil
	}
	kind := base.RequestedKind(p.compiler.Mapper, p.Facts.Admission.Targets, request)
	if !base.Requested(p.Facts.Admission.Targets, kind, "", request.SubResource) {
		return nil, nil
	}
	var rules []*rule
	for _, rule := range p.candidates(kind, request.SubResource) {
		if slices.Contains(rule.operations, request.Operation) {
			rules = append(rules, rule)
		}
	}
	if len(rules) == 0 {
		return nil, nil
	}
	v, problem := p.newRequestView(request, kind)
	var work base.NamedEvaluation = &classicEvaluation{policy: p, view: v, rules: rules}
	if problem != nil {
		work = &failure{NamedEvaluation: work, cause: problem}
	}
	results, err := p.limits.Review(ctx, p.Facts.Admission.Timeout, work)
	if err != nil {
		return nil, err
	}
	var verdicts []policy.Verdict
	for _, result := range results {
		verdicts = append(verdicts, p.conclude(v, rules, result))
	}
	return verdicts, nil
}

// failure is an evaluation that fails for a cause that is known before.
type failure struct {
	base.NamedEvaluation
	cause error
}

// Step fails.
func (f *failure) Step(_ context.Context, i int) ([]policy.Result, error) {
	return f.Fail(i, f.cause), nil
}

// conclude tells what a result means for the request. As in Kyverno, a failure denies only if it
// does by both ways in which Kyverno reads the overrides of a policy: one chooses the rules to
// enforce, the other one reports whether a failure of these is to be enforced.
func (p *classicPolicy) conclude(v *requestView, rules []*rule, result policy.Result) policy.Verdict {
	verdict := policy.Verdict{Result: result}
	if !base.Failed(result.Outcome) {
		return verdict
	}
	spec := p.decoded.GetSpec()
	// A result that is of no rule denies if any does.
	chosen, enforced := p.Facts.Admission.Enforces, p.Facts.Admission.Enforces
	if i := slices.IndexFunc(rules, func(rule *rule) bool { return rule.Name == result.Rule }); i >= 0 {
		chosen, enforced = v.chosen(spec, &rules[i].Rule), v.enforced(spec, &rules[i].Rule)
	}
	verdict.Deny = chosen && (result.Outcome == report.OutcomeFail && enforced ||
		result.Outcome == report.OutcomeError && p.Facts.Admission.Closed)
	verdict.Warn = !verdict.Deny && (chosen || spec.EmitWarning != nil && *spec.EmitWarning)
	return verdict
}

// Enforces is read by the function [policy.Enforces]. Kyverno decides by the names of rules.
func (p *classicPolicy) Enforces(rule string, subject policy.Subject) bool {
	failed := *engineapi.RuleFail(rule, engineapi.Validation, "", nil)
	response := engineapi.NewEngineResponse(*subject.Object, engineapi.NewKyvernoPolicy(p.decoded), subject.NamespaceLabels)
	return response.WithPolicyResponse(engineapi.PolicyResponse{Rules: []engineapi.RuleResponse{failed}}).HasEnforcedFailure()
}

// chosen reports whether a rule is among those to enforce in the request's namespace.
func (v *requestView) chosen(spec *kyvernov1.Spec, rule *kyvernov1.Rule) bool {
	overrides := rule.Validation.FailureActionOverrides
	if len(overrides) == 0 {
		overrides = spec.ValidationFailureActionOverrides
	}
	namespace := v.request.Namespace
	for i := range overrides {
		override := &overrides[i]
		everywhere := len(override.Namespaces) == 0 && override.NamespaceSelector == nil
		named := namespace != "" && wildcard.CheckPatterns(override.Namespaces, namespace)
		selected := namespace != "" && override.NamespaceSelector != nil && selects(override, v.request.NamespaceLabels)
		if everywhere || named || selected {
			return override.Action.Enforce()
		}
	}
	return ownAction(spec, rule).Enforce()
}

// enforced reports whether a failure of a rule denies.
func (v *requestView) enforced(spec *kyvernov1.Spec, rule *kyvernov1.Rule) bool {
	if action, ok := v.override(rule.Validation.FailureActionOverrides); ok {
		return action.Enforce()
	}
	if action := rule.Validation.FailureAction; action != nil {
		return action.Enforce()
	}
	if action, ok := v.override(spec.ValidationFailureActionOverrides); ok {
		return action.Enforce()
	}
	return spec.ValidationFailureAction.Enforce()
}

// override returns the action of the first override that the object's namespace has.
func (v *requestView) override(overrides []kyvernov1.ValidationFailureActionOverride) (kyvernov1.ValidationFailureAction, bool) {
	namespace := v.subject().GetNamespace()
	for i := range overrides {
		override := &overrides[i]
		if !override.Action.IsValid() {
			continue
		}
		named := override.Namespaces == nil || slices.ContainsFunc(override.Namespaces, func(pattern string) bool {
			return wildcard.Match(pattern, namespace)
		})
		if named && (override.NamespaceSelector == nil || selects(override, v.labels)) {
			return override.Action, true
		}
	}
	return "", false
}

func selects(override *kyvernov1.ValidationFailureActionOverride, labels map[string]string) bool {
	ok, err := matchutils.CheckSelector(override.NamespaceSelector, labels)
	return ok && err == nil
}

// rolesOf returns what a policy that reads roles is to know of the user.
func (p *classicPolicy) rolesOf(request *policy.Request) (roles, clusterRoles []string, err error) {
	if !p.Facts.Admission.Roles || request.Roles == nil {
		return nil, nil, nil
	}
	if roles, clusterRoles, err = request.Roles(); err != nil {
		return nil, nil, fmt.Errorf("cannot tell the roles of the user %s: %w", request.UserInfo.Username, err)
	}
	return roles, clusterRoles, nil
}
